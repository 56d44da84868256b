/** The canonical ABI: values of JavaScript to and from the memory of a module, by the types in `generated.mjs`. */

import { enums, records } from "./generated.mjs";

/** More flat parameters than this are passed through memory. */
const MAX_FLAT = 16;

const SIZES = { bool: 1, u32: 4, s32: 4, u64: 8, s64: 8, f64: 8 };

/** Texts from the module are UTF-8; another text is an error, as in the host. */
const DECODER = new TextDecoder("utf-8", { fatal: true });
const ENCODER = new TextEncoder();

/** The memory of an instance, and its function for more of it. */
export class Guest {
  #exports;

  constructor(exports) {
    this.#exports = exports;
  }

  /** The memory as it is now: it moves when it grows. */
  get view() {
    return new DataView(this.#exports.memory.buffer);
  }

  bytes(at, length) {
    return new Uint8Array(this.#exports.memory.buffer, at, length);
  }

  /** Memory of the module for a value. */
  take(size, align) {
    return this.#exports.cabi_realloc(0, 0, align, size) >>> 0;
  }
}

/** The function that a module imports, around one with values of JavaScript. */
export function imported([params, result], own, guest) {
  const isSpilled = params.reduce((count, type) => count + flatCount(type), 0) > MAX_FLAT;
  return (...flat) => {
    const values = isSpilled ? loadFields(guest(), params, flat.shift() >>> 0) : params.map((type) => liftFlat(guest(), type, flat));
    const answer = own(...values);
    if (result === null) return undefined;
    if (isFlat(result)) return toFlat(result, answer);
    return store(guest(), result, flat[0] >>> 0, answer);
  };
}

/** Reads a value at an address. */
export function load(guest, type, at) {
  if (type === "string") {
    const [start, length] = pair(guest, at);
    return DECODER.decode(guest.bytes(start, length));
  }
  if (typeof type === "string") return fromMemory(guest.view, type, at);
  const [kind, inner] = type;
  switch (kind) {
    case "option":
      return guest.view.getUint8(at) === 0 ? undefined : load(guest, inner, at + layout(inner).align);
    case "list": {
      const [start, length] = pair(guest, at);
      return Array.from({ length }, (_, item) => load(guest, inner, start + item * layout(inner).size));
    }
    case "enum":
      return enums[inner][guest.view.getUint8(at)];
    default: {
      const fields = records[inner];
      const values = loadFields(guest, fields.map(([, field]) => field), at);
      return Object.fromEntries(fields.map(([name], index) => [name, values[index]]));
    }
  }
}

/** Writes a value to an address. */
function store(guest, type, at, value) {
  if (type === "string") {
    const bytes = ENCODER.encode(value);
    const start = guest.take(bytes.length, 1);
    guest.bytes(start, bytes.length).set(bytes);
    return storePair(guest, at, start, bytes.length);
  }
  if (typeof type === "string") return toMemory(guest.view, type, at, value);
  const [kind, inner] = type;
  switch (kind) {
    case "option":
      guest.view.setUint8(at, value === null ? 0 : 1);
      return value === null ? undefined : store(guest, inner, at + layout(inner).align, value);
    case "list": {
      const { size, align } = layout(inner);
      const start = guest.take(size * value.length, align);
      value.forEach((item, index) => store(guest, inner, start + index * size, item));
      return storePair(guest, at, start, value.length);
    }
    default: {
      const fields = records[inner];
      const { offsets } = layoutOf(fields.map(([, field]) => field));
      return fields.forEach(([name, field], index) => store(guest, field, at + offsets[index], value[name]));
    }
  }
}

function loadFields(guest, types, at) {
  const { offsets } = layoutOf(types);
  return types.map((type, index) => load(guest, type, at + offsets[index]));
}

function pair(guest, at) {
  return [guest.view.getUint32(at, true), guest.view.getUint32(at + 4, true)];
}

function storePair(guest, at, start, length) {
  guest.view.setUint32(at, start, true);
  guest.view.setUint32(at + 4, length, true);
}

/** The next parameters as a value. */
function liftFlat(guest, type, flat) {
  if (type !== "string") return fromFlat(type, flat.shift());
  const [start, length] = [flat.shift() >>> 0, flat.shift() >>> 0];
  return DECODER.decode(guest.bytes(start, length));
}

function isFlat(type) {
  return type !== "string" && (typeof type === "string" || type[0] === "enum");
}

function fromFlat(type, value) {
  if (type === "u32") return value >>> 0;
  if (type === "bool") return value !== 0;
  return Array.isArray(type) ? enums[type[1]][value] : value;
}

function toFlat(type, value) {
  return type === "u64" || type === "s64" ? BigInt(value) : Number(value);
}

function fromMemory(view, type, at) {
  switch (type) {
    case "bool":
      return view.getUint8(at) !== 0;
    case "u32":
      return view.getUint32(at, true);
    case "s32":
      return view.getInt32(at, true);
    case "u64":
      return view.getBigUint64(at, true);
    case "s64":
      return view.getBigInt64(at, true);
    default:
      return view.getFloat64(at, true);
  }
}

function toMemory(view, type, at, value) {
  switch (type) {
    case "bool":
      return view.setUint8(at, value ? 1 : 0);
    case "u32":
      return view.setUint32(at, value, true);
    case "s32":
      return view.setInt32(at, value, true);
    case "u64":
      return view.setBigUint64(at, BigInt(value), true);
    case "s64":
      return view.setBigInt64(at, BigInt(value), true);
    default:
      return view.setFloat64(at, value, true);
  }
}

function layout(type) {
  if (type === "string" || type[0] === "list") return { size: 8, align: 4 };
  if (typeof type === "string") return { size: SIZES[type], align: SIZES[type] };
  const [kind, inner] = type;
  if (kind === "enum") return { size: 1, align: 1 };
  if (kind === "record") return layoutOf(records[inner].map(([, field]) => field));
  const { size, align } = layout(inner);
  return { size: aligned(align + size, align), align };
}

/** The layout of a record with fields of these types, and the offset of each. */
function layoutOf(types) {
  let [size, align] = [0, 1];
  const offsets = types.map((type) => {
    const own = layout(type);
    const at = aligned(size, own.align);
    [size, align] = [at + own.size, Math.max(align, own.align)];
    return at;
  });
  return { size: aligned(size, align), align, offsets };
}

function aligned(size, align) {
  return Math.ceil(size / align) * align;
}

function flatCount(type) {
  if (type === "string" || type[0] === "list") return 2;
  const [kind, inner] = type;
  if (kind === "option") return 1 + flatCount(inner);
  if (kind !== "record") return 1;
  return records[inner].reduce((count, [, field]) => count + flatCount(field), 0);
}
