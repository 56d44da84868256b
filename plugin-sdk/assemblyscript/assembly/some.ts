/** A number or truth value that may be absent: the type `Some<i64> | null`, since only a reference can be `null`. */
export class Some<T> {
  constructor(
    /** The value. */
    readonly value: T,
  ) {}
}
