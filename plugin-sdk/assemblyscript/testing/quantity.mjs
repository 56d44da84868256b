/** Amounts, written as in Kubernetes. */

const MOST = (1n << 63n) - 1n;
const TEXT = /^([+-]?)(\d*)(?:\.(\d*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,9})$/;
const DECIMAL = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** No number needs a larger exponent: larger numbers are cut, smaller ones rounded up to 1. */
const MAX_EXPONENT = 1000;

/** The longest text that is read: a number of more digits is no amount of anything. */
const MAX_LENGTH = 256;

/** An amount of a pod or node, in base units (`value`) and in thousandths (`millis`). */
export class Quantity {
  constructor(value, millis) {
    this.value = value;
    this.millis = millis;
  }

  /**
   * Reads a quantity as the host does.
   *
   * @throws RangeError if the text is none.
   */
  static parse(text) {
    const found = text.length <= MAX_LENGTH ? TEXT.exec(text) : null;
    const [, sign = "", whole = "", fraction = "", suffix = ""] = found ?? [];
    if (whole === "" && fraction === "") throw new RangeError(`${JSON.stringify(text)} is no quantity`);
    const binary = BINARY.indexOf(suffix) + 1;
    const exponent = /^[eE]./.test(suffix) ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0);
    const scaled = (perUnit) => {
      const digits = BigInt(whole + fraction) * perUnit * (1n << BigInt(10 * binary));
      const amount = rounded(digits, exponent - fraction.length);
      return sign === "-" ? -amount : amount;
    };
    return new Quantity(scaled(1n), scaled(1000n));
  }
}

/** `digits * 10 ** exponent`, rounded up, at most 2^63 - 1. */
function rounded(digits, exponent) {
  if (digits === 0n) return 0n;
  const power = 10n ** BigInt(Math.min(Math.abs(exponent), MAX_EXPONENT));
  const amount = exponent < 0 ? (digits + power - 1n) / power : digits * power;
  return amount < MOST ? amount : MOST;
}
