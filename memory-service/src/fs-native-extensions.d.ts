declare module "fs-native-extensions" {
  /**
   * Takes an OFD lock on the whole file; false when another descriptor's lock is in its way. An exclusive one, the
   * default, needs a descriptor that may write; a shared one is only in the way of exclusive ones.
   */
  export function tryLock(fd: number, options?: { readonly shared?: boolean }): boolean;
}
