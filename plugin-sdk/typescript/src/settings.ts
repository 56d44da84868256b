/** Settings: a field for each, which says what it accepts. */

import { Quantity } from "./quantity.js";

/** The settings are wrong. The text says which one, for the operator. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** One setting: it reads its value from JSON. `setting` makes them. */
export interface Field<T> {
  /** The value where the sidecar does not name the setting; without it the setting must be given. */
  readonly fallback?: { readonly value: T };
  /**
   * Reads the value. The path names it in errors.
   *
   * @throws SettingsError if it is of another kind.
   */
  read(value: unknown, path: string): T;
}

/** The settings of a policy, by name. */
export type Schema = Readonly<Record<string, Field<unknown>>>;

/** The values of settings, as the functions of a policy get them. */
export type Values<S extends Schema> = { readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never };

/** The value of a setting that the sidecar does not name. */
interface Options<T> {
  readonly default?: T;
}

/** The largest whole number: a larger one may be rounded. */
const largest = Number.MAX_SAFE_INTEGER;

function field<T>(options: Options<T>, read: Field<T>["read"]): Field<T> {
  return options.default === undefined ? { read } : { read, fallback: { value: options.default } };
}

/** The kinds of settings. Each takes a `default`; without one the setting must be given. */
export const setting = {
  /** A text. */
  string: (options: Options<string> = {}): Field<string> =>
    field(options, (value, path) => (typeof value === "string" ? value : wrong(path, "a string", value))),

  /** `true` or `false`. */
  boolean: (options: Options<boolean> = {}): Field<boolean> =>
    field(options, (value, path) => (typeof value === "boolean" ? value : wrong(path, "true or false", value))),

  /** A number. */
  number: (options: Options<number> = {}): Field<number> =>
    field(options, (value, path) => {
      if (typeof value !== "number") return wrong(path, "a number", value);
      if (!Number.isFinite(value)) return wrong(path, "a number from -1.8e308 to 1.8e308", value);
      return value;
    }),

  /** A whole number, of at most 53 bits. */
  integer: (options: Options<number> = {}): Field<number> =>
    field(options, (value, path) => {
      if (typeof value === "number" && Number.isSafeInteger(value)) return value;
      if (typeof value !== "number" || Math.abs(value) <= largest) return wrong(path, "a whole number", value);
      throw new SettingsError(`${path}: expected a whole number from -${largest} to ${largest}, found ${value}`);
    }),

  /** An amount: `512Mi`, `500m` or a bare number. */
  quantity: (options: Options<string> = {}): Field<Quantity> => {
    const parsed = options.default === undefined ? {} : { default: Quantity.parse(options.default) };
    return field<Quantity>(parsed, quantity);
  },

  /** One of these texts. */
  oneOf: <const T extends string>(choices: readonly T[], options: Options<NoInfer<T>> = {}): Field<T> =>
    field<T>(options, (value, path) => {
      const choice = choices.find((choice) => choice === value);
      if (choice !== undefined) return choice;
      throw new SettingsError(`${path}: expected one of ${choices.join(", ")}, found ${shown(value)}`);
    }),

  /** A list. */
  list: <T>(item: Field<T>, options: Options<readonly T[]> = {}): Field<readonly T[]> =>
    field<readonly T[]>(options, (value, path) => {
      if (!Array.isArray(value)) return wrong(path, "a list", value);
      return value.map((element, at) => item.read(element, `${path}[${at}]`));
    }),

  /** Values by names that the operator chooses. */
  map: <T>(item: Field<T>, options: Options<ReadonlyMap<string, T>> = {}): Field<ReadonlyMap<string, T>> =>
    field<ReadonlyMap<string, T>>(options, (value, path) => {
      if (!isObject(value)) return wrong(path, "an object", value);
      return new Map(Object.entries(value).map(([key, member]) => [key, item.read(member, `${path}.${key}`)]));
    }),

  /** An object with these fields. */
  object: <S extends Schema>(schema: S, options: Options<Values<S>> = {}): Field<Values<S>> =>
    field<Values<S>>(options, (value, path) => object(schema, value, path, `${path}.`)),

  /** A setting that may be left out, or be `null`. */
  optional: <T>(item: Field<T>): Field<T | undefined> => ({
    fallback: { value: undefined },
    read: (value, path) => (value === null ? undefined : item.read(value, path)),
  }),
};

/**
 * The settings of a policy from the value of a JSON text.
 *
 * @throws SettingsError if they are not those of the schema.
 */
export function readSettings<S extends Schema>(schema: S, value: unknown): Values<S> {
  return object(schema, value ?? {}, "the settings", "");
}

function object<S extends Schema>(schema: S, value: unknown, path: string, prefix: string): Values<S> {
  if (!isObject(value)) return wrong(path, "an object", value);
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(schema, key)) continue;
    const expected = Object.keys(schema).map((name) => prefix + name);
    throw new SettingsError(`there is no field ${prefix}${key}; expected ${expected.join(", ") || "none"}`);
  }
  const read = Object.entries(schema).map(([key, item]) => [key, member(item, value, key, prefix)]);
  return Object.fromEntries(read) as Values<S>;
}

function member(item: Field<unknown>, value: Readonly<Record<string, unknown>>, key: string, prefix: string): unknown {
  if (Object.hasOwn(value, key)) return item.read(value[key], prefix + key);
  if (item.fallback === undefined) throw new SettingsError(`the field ${prefix}${key} is missing`);
  return item.fallback.value;
}

function quantity(value: unknown, path: string): Quantity {
  try {
    if (typeof value === "string" || typeof value === "number") return Quantity.parse(String(value));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return wrong(path, "a quantity such as 512Mi", value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(path: string, expected: string, value: unknown): never {
  throw new SettingsError(`${path}: expected ${expected}, found ${kind(value)}`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : kind(value);
}

function kind(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  const kinds: Readonly<Record<string, string>> = { boolean: "true or false", number: "a number", string: "a string" };
  return kinds[typeof value] ?? (value === null ? "null" : "an object");
}
