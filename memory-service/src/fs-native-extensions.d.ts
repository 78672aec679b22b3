declare module "fs-native-extensions" {
  /** Takes an exclusive OFD lock on the whole file; false when another descriptor holds one. */
  export function tryLock(fd: number): boolean;
}
