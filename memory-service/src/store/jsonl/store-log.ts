/** What the store says to the operator. Never texts, ids of entries or metas. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
