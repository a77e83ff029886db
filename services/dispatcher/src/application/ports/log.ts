/** The service's log as the inner layers see it: a record first, a sentence second. */
export interface Log {
  debug(record: object, message: string): void;
  info(record: object, message: string): void;
  warn(record: object, message: string): void;
  error(record: object, message: string): void;
}
