import { Json, JsonKind } from "./json";
import { Quantity } from "./quantity";

/** Those of a whole number. */
const LIMITS = "-9223372036854775808 to 9223372036854775807";

/**
 * The `settings` of the sidecar, which the constructor of a policy reads.
 *
 * ```ts
 * constructor(settings: Settings) {
 *   this.annotation = settings.stringOr("annotation", "example.com/needs");
 *   this.limit = settings.integer("limit");
 *   if (this.limit < 1) settings.refuse("limit: expected 1 or more");
 * }
 * ```
 *
 * A setting that must be given and is not, one of another type such as `null`, and a key that the constructor did not ask for are errors,
 * which the operator sees as the policy is loaded. The first error counts; until the constructor ends, a setting that is
 * wrong has an empty value.
 */
export class Settings {
  private refusal: string | null = null;
  private readonly names: Array<string> = [];
  private readonly root: Json;

  /** @internal */
  constructor(text: string) {
    this.root = Json.parse(text);
    const kind = this.root.kind;
    if (kind != JsonKind.Object && kind != JsonKind.Null) this.refuseKind("the settings", "an object", this.root);
  }

  /** Refuses the settings. The text says which setting is wrong. */
  refuse(error: string): void {
    if (this.refusal === null) this.refusal = error;
  }

  /** A text that must be given. */
  string(name: string): string {
    const value = this.given(name);
    return value === null ? "" : this.stringIn(name, value);
  }

  /** A text, or else the fallback. */
  stringOr(name: string, fallback: string): string {
    const value = this.member(name);
    return value === null ? fallback : this.stringIn(name, value);
  }

  /** A whole number that must be given. */
  integer(name: string): i64 {
    const value = this.given(name);
    return value === null ? 0 : this.integerIn(name, value);
  }

  /** A whole number, or else the fallback. */
  integerOr(name: string, fallback: i64): i64 {
    const value = this.member(name);
    return value === null ? fallback : this.integerIn(name, value);
  }

  /** A number that must be given. */
  number(name: string): f64 {
    const value = this.given(name);
    return value === null ? 0 : this.numberIn(name, value);
  }

  /** A number, or else the fallback. */
  numberOr(name: string, fallback: f64): f64 {
    const value = this.member(name);
    return value === null ? fallback : this.numberIn(name, value);
  }

  /** `true` or `false`, which must be given. */
  boolean(name: string): bool {
    const value = this.given(name);
    return value === null ? false : this.booleanIn(name, value);
  }

  /** `true` or `false`, or else the fallback. */
  booleanOr(name: string, fallback: bool): bool {
    const value = this.member(name);
    return value === null ? fallback : this.booleanIn(name, value);
  }

  /** An amount that must be given: `512Mi`, `500m` or a bare number. */
  quantity(name: string): Quantity {
    const value = this.given(name);
    return value === null ? Quantity.zero : this.quantityIn(name, value);
  }

  /** An amount, or else the fallback: `settings.quantityOr("spare", "512Mi")`. */
  quantityOr(name: string, fallback: string): Quantity {
    const value = this.member(name);
    if (value !== null) return this.quantityIn(name, value);
    const own = Quantity.parse(fallback);
    if (own === null) throw new Error(name + ": the fallback " + fallback + " is no quantity");
    return own;
  }

  /** A list of texts; empty if it is not given. */
  strings(name: string): Array<string> {
    const texts = new Array<string>();
    const list = this.member(name);
    if (list === null) return texts;
    if (list.kind != JsonKind.List) this.refuseKind(name, "a list", list);
    for (let at = 0; at < list.items.length; at++) {
      texts.push(this.stringIn(name + "[" + at.toString() + "]", list.items[at]));
    }
    return texts;
  }

  /** Texts by names that the operator chooses; empty if it is not given. */
  stringMap(name: string): Map<string, string> {
    const texts = new Map<string, string>();
    const object = this.member(name);
    if (object === null) return texts;
    if (object.kind != JsonKind.Object) this.refuseKind(name, "an object", object);
    for (let at = 0; at < object.keys.length; at++) {
      const key = object.keys[at];
      texts.set(key, this.stringIn(name + "." + key, object.items[at]));
    }
    return texts;
  }

  /** A value of any form, also `JsonKind.Null`, which the policy reads itself; `null` if it is not given. */
  json(name: string): Json | null {
    return this.member(name);
  }

  /** @internal The first error, after all settings were read; `null` if they are accepted. */
  finish(): string | null {
    const keys = this.root.keys;
    for (let at = 0; at < keys.length; at++) {
      if (this.names.includes(keys[at])) continue;
      const expected = this.names.length == 0 ? "none" : this.names.join(", ");
      this.refuse("there is no field " + keys[at] + "; expected " + expected);
    }
    return this.refusal;
  }

  /** A setting that must be given. */
  private given(name: string): Json | null {
    const value = this.member(name);
    if (value === null) this.refuse("the field " + name + " is missing");
    return value;
  }

  private member(name: string): Json | null {
    this.names.push(name);
    return this.root.get(name);
  }

  private stringIn(path: string, value: Json): string {
    const own = value.string;
    if (own === null) this.refuseKind(path, "a string", value);
    return own === null ? "" : own;
  }

  private integerIn(path: string, value: Json): i64 {
    const own = value.integer;
    if (own !== null) return own.value;
    if (isWhole(value)) this.refuseNumber(path, "a whole number from " + LIMITS, value);
    else this.refuseKind(path, "a whole number", value);
    return 0;
  }

  private numberIn(path: string, value: Json): f64 {
    const own = value.number;
    if (own !== null && isFinite(own.value)) return own.value;
    if (own !== null) this.refuseNumber(path, "a number from -1.8e308 to 1.8e308", value);
    else this.refuseKind(path, "a number", value);
    return 0;
  }

  private booleanIn(path: string, value: Json): bool {
    const own = value.boolean;
    if (own === null) this.refuseKind(path, "true or false", value);
    return own === null ? false : own.value;
  }

  private quantityIn(path: string, value: Json): Quantity {
    const isAmount = value.kind == JsonKind.String || value.kind == JsonKind.Number;
    const own = isAmount ? Quantity.parse(value.raw) : null;
    if (own === null) this.refuseKind(path, "a quantity such as 512Mi", value);
    return own === null ? Quantity.zero : own;
  }

  private refuseNumber(path: string, expected: string, value: Json): void {
    this.refuse(path + ": expected " + expected + ", found " + value.raw);
  }

  private refuseKind(path: string, expected: string, value: Json): void {
    this.refuse(path + ": expected " + expected + ", found " + value.kindName);
  }
}

/** Whether a value is a whole number in decimal digits, of any size. */
function isWhole(value: Json): bool {
  if (value.kind != JsonKind.Number) return false;
  const digits = value.raw;
  for (let at = digits.charCodeAt(0) == 0x2d ? 1 : 0; at < digits.length; at++) {
    if (digits.charCodeAt(at) < 0x30 || digits.charCodeAt(at) > 0x39) return false;
  }
  return true;
}
