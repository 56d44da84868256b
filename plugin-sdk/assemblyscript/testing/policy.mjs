/** A compiled policy, asked in the WebAssembly of Node.js. */

import { readFile } from "node:fs/promises";

import { compile } from "../builder/compile.mjs";
import { Guest, imported, load } from "./abi.mjs";
import { bound, fits, keep, refused, reject, retry, unresolvable, unschedulable } from "./answers.mjs";
import { functions, PACKAGE, VERSION } from "./generated.mjs";

const PAIRS = ["list", ["record", "pair"]];

/** A policy that a world can ask. */
export class Policy {
  #module;

  constructor(bytes) {
    this.#module = new WebAssembly.Module(bytes);
  }

  /** @internal A new instance for each call, as in the gateway: nothing is kept from one call to the next. */
  call(answers, verb) {
    const name = exportName(verb);
    const isExported = WebAssembly.Module.exports(this.#module).some((own) => own.name === name);
    if (!isExported) throw new RangeError(`the policy has no ${verb}`);
    const { exports } = new WebAssembly.Instance(this.#module, imports(answers, () => guest));
    const guest = new Guest(exports);
    exports._initialize();
    return (...args) => ANSWERS[verb](guest, exports[name](...args));
  }
}

/**
 * The policy of a source or of a module.
 *
 * @param {string | URL} file
 */
export async function loadPolicy(file) {
  return new Policy(String(file).endsWith(".ts") ? await compile(file) : await readFile(file));
}

function exportName(verb) {
  return `${PACKAGE}/${verb === "bind" ? "binding" : verb}@${VERSION}#${verb}`;
}

function imports(answers, guest) {
  const own = Object.entries(functions).map(([name, signatures]) => {
    const of = Object.entries(signatures).map(([read, signature]) => {
      return [read, imported(signature, answers[name][camel(read)], guest)];
    });
    return [`${PACKAGE}/${name}@${VERSION}`, Object.fromEntries(of)];
  });
  return Object.fromEntries(own);
}

/** `image-size` as `imageSize`. */
function camel(name) {
  return name.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase());
}

/** The answers of each verb from memory. */
const ANSWERS = {
  validate: (guest, at) => (guest.view.getUint8(at) === 0 ? undefined : load(guest, "string", at + 4)),
  filter(guest, at) {
    const reason = () => load(guest, "string", at + 4);
    return [() => fits, () => unschedulable(reason()), () => unresolvable(reason())][guest.view.getUint8(at)]();
  },
  score: (_, score) => score >>> 0,
  rank: (guest, at) => load(guest, ["list", "u32"], at),
  preempt(guest, at) {
    const replaced = () => ({ kind: "replace", victims: load(guest, ["list", "u32"], at + 4) });
    return [() => keep, () => reject(load(guest, "string", at + 4)), replaced][guest.view.getUint8(at)]();
  },
  bind(guest, at) {
    if (guest.view.getUint8(at) !== 0) {
      return [refused, retry][guest.view.getUint8(at + 4)](load(guest, "string", at + 8));
    }
    const entries = (from) => Object.fromEntries(load(guest, PAIRS, from).map(({ key, value }) => [key, value]));
    return bound({ annotations: entries(at + 4), labels: entries(at + 12) });
  },
};
