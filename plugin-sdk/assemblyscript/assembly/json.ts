import { Some } from "./some";

/** Brackets within brackets: no object of Kubernetes has as many, and each takes a frame of the stack. */
const MAX_DEPTH = 128;

/** The kinds of JSON values. */
export enum JsonKind { Null, Boolean, Number, String, List, Object }

/** A JSON value: of a setting, or of a field of a pod or node. */
export class Json {
  /** The items of a list, or the values of an object in the order of `keys`; otherwise empty. */
  readonly items: Array<Json> = [];
  /** The keys of an object; otherwise empty. */
  readonly keys: Array<string> = [];

  /** @internal */
  constructor(
    readonly kind: JsonKind,
    private readonly text: string,
  ) {}

  /** Reads a JSON text. A text that is none ends the call as a panic: the host gives valid JSON. */
  static parse(text: string): Json {
    return new Reader(text).whole();
  }

  /** The text of a string; `null` for a value of another kind. */
  get string(): string | null {
    return this.kind == JsonKind.String ? this.text : null;
  }

  /** A whole number within 64 bits; `null` for any other value. */
  get integer(): Some<i64> | null {
    return this.kind == JsonKind.Number ? parseInteger(this.text) : null;
  }

  /** A number; `null` for a value of another kind. */
  get number(): Some<f64> | null {
    return this.kind == JsonKind.Number ? new Some<f64>(F64.parseFloat(this.text)) : null;
  }

  /** `true` or `false`; `null` for a value of another kind. */
  get boolean(): Some<bool> | null {
    return this.kind == JsonKind.Boolean ? new Some<bool>(this.text == "true") : null;
  }

  /** The member of an object; `null` if the value is no object, or has no such key. */
  get(key: string): Json | null {
    const at = this.keys.lastIndexOf(key);
    return at < 0 ? null : this.items[at];
  }

  /** @internal The digits of a number, or the text of a string. */
  get raw(): string {
    return this.text;
  }

  /** @internal The kind with its article, for errors. */
  get kindName(): string {
    switch (this.kind) {
      case JsonKind.Null: return "null";
      case JsonKind.Boolean: return "true or false";
      case JsonKind.Number: return "a number";
      case JsonKind.String: return "a string";
      case JsonKind.List: return "a list";
      default: return "an object";
    }
  }
}

/** A whole number in decimal digits; `null` if the text is none, or beyond 64 bits. */
export function parseInteger(text: string): Some<i64> | null {
  const isNegative = text.length > 0 && text.charCodeAt(0) == 0x2d;
  const first = isNegative ? 1 : 0;
  if (text.length == first) return null;
  const largest = <u64>i64.MAX_VALUE + <u64>first;
  let number: u64 = 0;
  for (let at = first; at < text.length; at++) {
    const digit = <u64>(text.charCodeAt(at) - 0x30);
    if (digit > 9 || number > (largest - digit) / 10) return null;
    number = number * 10 + digit;
  }
  return new Some<i64>(isNegative ? <i64>(0 - number) : <i64>number);
}

class Reader {
  private at: i32 = 0;

  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value(0);
    this.skipSpace();
    if (this.at < this.text.length) this.fail("the end");
    return value;
  }

  private value(depth: i32): Json {
    if (depth > MAX_DEPTH) throw new Error("JSON: more than " + MAX_DEPTH.toString() + " brackets within each other");
    this.skipSpace();
    switch (this.peek()) {
      case 0x22: return new Json(JsonKind.String, this.string());
      case 0x5b: return this.list(depth);
      case 0x7b: return this.object(depth);
      case 0x74: return this.word("true", JsonKind.Boolean);
      case 0x66: return this.word("false", JsonKind.Boolean);
      case 0x6e: return this.word("null", JsonKind.Null);
      default: return this.number();
    }
  }

  private list(depth: i32): Json {
    const list = new Json(JsonKind.List, "");
    this.at++;
    if (this.takes(0x5d)) return list;
    do list.items.push(this.value(depth + 1)); while (this.takes(0x2c));
    this.expect(0x5d, "a comma or ]");
    return list;
  }

  private object(depth: i32): Json {
    const object = new Json(JsonKind.Object, "");
    this.at++;
    if (this.takes(0x7d)) return object;
    do {
      this.skipSpace();
      if (this.peek() != 0x22) this.fail("a key");
      object.keys.push(this.string());
      this.expect(0x3a, "a colon");
      object.items.push(this.value(depth + 1));
    } while (this.takes(0x2c));
    this.expect(0x7d, "a comma or }");
    return object;
  }

  private string(): string {
    let text = "";
    let from = ++this.at;
    for (;;) {
      const code = this.peek();
      if (code < 0x20) this.fail("the end of a string");
      if (code == 0x22) break;
      this.at++;
      if (code != 0x5c) continue;
      text += this.text.substring(from, this.at - 1) + this.escape();
      from = this.at;
    }
    return text + this.text.substring(from, this.at++);
  }

  /** The character behind a backslash. */
  private escape(): string {
    const code = this.peek();
    this.at++;
    switch (code) {
      case 0x22: case 0x2f: case 0x5c: return String.fromCharCode(code);
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x75: return String.fromCharCode(this.hex());
      default: this.fail("an escaped character");
    }
    return "";
  }

  private hex(): i32 {
    let code = 0;
    for (let digits = 0; digits < 4; digits++, this.at++) {
      const own = this.peek();
      const lower = own | 0x20;
      if (own >= 0x30 && own <= 0x39) code = code << 4 | (own - 0x30);
      else if (lower >= 0x61 && lower <= 0x66) code = code << 4 | (lower - 0x57);
      else this.fail("four hexadecimal digits");
    }
    return code;
  }

  private number(): Json {
    const from = this.at;
    while (isOfNumber(this.peek())) this.at++;
    if (this.at == from) this.fail("a value");
    return new Json(JsonKind.Number, this.text.substring(from, this.at));
  }

  private word(word: string, kind: JsonKind): Json {
    const end = this.at + word.length;
    if (this.text.substring(this.at, end) != word) this.fail(word);
    this.at = end;
    return new Json(kind, word);
  }

  /** Whether the next character is this one, which is skipped then. */
  private takes(code: i32): bool {
    this.skipSpace();
    const isNext = this.peek() == code;
    if (isNext) this.at++;
    return isNext;
  }

  private expect(code: i32, expected: string): void {
    if (!this.takes(code)) this.fail(expected);
  }

  private skipSpace(): void {
    for (let code = this.peek(); code == 0x20 || code == 0x09 || code == 0x0a || code == 0x0d; code = this.peek()) this.at++;
  }

  /** The next code unit; -1 at the end. */
  private peek(): i32 {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1;
  }

  private fail(expected: string): void {
    throw new Error("JSON: expected " + expected + " at character " + this.at.toString());
  }
}

/** Whether a character is one of those that numbers have: digits, signs, a point, an exponent. */
function isOfNumber(code: i32): bool {
  return (code >= 0x30 && code <= 0x39) || code == 0x2d || code == 0x2b || code == 0x2e || (code | 0x20) == 0x65;
}
