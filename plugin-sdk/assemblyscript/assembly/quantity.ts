import { parseInteger } from "./json";
import { Some } from "./some";

const SUFFIXES = "numkMGTPE";
const POWERS: StaticArray<i32> = [-9, -6, -3, 3, 6, 9, 12, 15, 18];
const BINARY_SUFFIXES = "KMGTPE";

/** The longest text that is read: a number of more digits is no amount of anything. */
const MAX_LENGTH = 256;

/** No number needs a larger exponent: larger numbers are cut, smaller ones rounded up to 1. */
const MAX_EXPONENT: i64 = 1000;

/**
 * An amount in a policy's settings: `512Mi`, `500m`, `"3"` or the bare number 64.
 *
 * Amounts of cpu on pods and nodes are in millicores: compare them with `millis`. All other amounts are in base units:
 * compare them with `value`. A fraction of the unit is rounded up, and a number beyond 64 bits is cut, as Kubernetes does.
 */
export class Quantity {
  private constructor(
    /** The amount in base units. */
    readonly value: i64,
    /** The amount in thousandths. */
    readonly millis: i64,
  ) {}

  /** @internal */
  static get zero(): Quantity {
    return new Quantity(0, 0);
  }

  /** Reads a quantity as the host does; `null` if the text is none. */
  static parse(text: string): Quantity | null {
    const number = Decimal.parse(text);
    return number === null ? null : new Quantity(number.amount(1), number.amount(1000));
  }
}

/** Decimal digits with a point, a power of ten and a power of two. */
class Decimal {
  private constructor(
    private readonly isNegative: bool,
    private readonly digits: string,
    /** The exponent of ten for the last of the digits. */
    private readonly exponent: i64,
    private readonly shift: i32,
  ) {}

  static parse(text: string): Decimal | null {
    if (text.length > MAX_LENGTH) return null;
    const isNegative = text.startsWith("-");
    const first = isNegative || text.startsWith("+") ? 1 : 0;
    let point = -1;
    let end = first;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code == 0x2e && point < 0) point = end;
      else if (code < 0x30 || code > 0x39) break;
    }
    const digits = text.substring(first, end).replace(".", "");
    if (digits.length == 0) return null;
    const fraction = point < 0 ? 0 : end - point - 1;
    const suffix = text.substring(end);
    if (suffix.length == 2 && suffix.endsWith("i")) {
      const power = BINARY_SUFFIXES.indexOf(suffix.charAt(0)) + 1;
      return power == 0 ? null : new Decimal(isNegative, digits, -fraction, 10 * power);
    }
    const power = exponentOf(suffix);
    return power === null ? null : new Decimal(isNegative, digits, power.value - fraction, 0);
  }

  /** The number in units of 1/perUnit, rounded up, at most 2^63 - 1. */
  amount(perUnit: u64): i64 {
    const largest = Digits.of(i64.MAX_VALUE.toString());
    const product = Digits.of(this.digits);
    if (product.isZero) return 0;
    product.multiply(perUnit);
    for (let at = 0; at < this.shift; at += 10) product.multiply(1024);
    product.shift(max(min(this.exponent, MAX_EXPONENT), -MAX_EXPONENT));
    const value = product.isAbove(largest) ? i64.MAX_VALUE : product.integer;
    return this.isNegative ? -value : value;
  }
}

/** The exponent of ten for a suffix such as `k`, `e3` or none; `null` if the suffix is none. */
function exponentOf(suffix: string): Some<i64> | null {
  if (suffix.length == 0) return new Some<i64>(0);
  const at = suffix.length == 1 ? SUFFIXES.indexOf(suffix) : -1;
  if (at >= 0) return new Some<i64>(POWERS[at]);
  if (!suffix.startsWith("e") && !suffix.startsWith("E")) return null;
  const sign = suffix.charAt(1);
  const power = parseInteger(suffix.substring(sign == "+" ? 2 : 1));
  if (power === null || (sign == "+" && suffix.charAt(2) == "-")) return null;
  return power.value < i32.MIN_VALUE || power.value > i32.MAX_VALUE ? null : power;
}

/** A natural number in decimal digits, the lowest first. */
class Digits {
  private constructor(private digits: Array<u8>) {}

  static of(text: string): Digits {
    const digits = new Array<u8>();
    for (let at = text.length - 1; at >= 0; at--) digits.push(<u8>(text.charCodeAt(at) - 0x30));
    return new Digits(digits).trimmed();
  }

  get isZero(): bool {
    return this.digits.length == 0;
  }

  /** The number, which fits. */
  get integer(): i64 {
    let value: i64 = 0;
    for (let at = this.digits.length - 1; at >= 0; at--) value = value * 10 + this.digits[at];
    return value;
  }

  multiply(factor: u64): void {
    let carry: u64 = 0;
    for (let at = 0; at < this.digits.length; at++) {
      carry += this.digits[at] * factor;
      this.digits[at] = <u8>(carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) this.digits.push(<u8>(carry % 10));
  }

  /** Multiplies by a power of ten, rounded up. */
  shift(exponent: i64): void {
    for (; exponent > 0; exponent--) this.digits.unshift(0);
    let hasRest = false;
    for (; exponent < 0 && this.digits.length > 0; exponent++) hasRest = this.digits.shift() != 0 || hasRest;
    if (hasRest) this.increment();
  }

  isAbove(other: Digits): bool {
    if (this.digits.length != other.digits.length) return this.digits.length > other.digits.length;
    for (let at = this.digits.length - 1; at >= 0; at--) {
      if (this.digits[at] != other.digits[at]) return this.digits[at] > other.digits[at];
    }
    return false;
  }

  private increment(): void {
    for (let at = 0; at < this.digits.length; at++) {
      this.digits[at] = (this.digits[at] + 1) % 10;
      if (this.digits[at] != 0) return;
    }
    this.digits.push(1);
  }

  private trimmed(): Digits {
    while (this.digits.length > 0 && this.digits[this.digits.length - 1] == 0) this.digits.pop();
    return this;
  }
}
