/** A policy that tells what it was given: its settings, and the quantity or JSON in annotations of the pod. */

import { Filter, fits, Json, JsonKind, Node, Pod, Quantity, Settings, unschedulable, Verdict } from "plimsoll-assemblyscript";

export class Probe implements Filter {
  private readonly told: string;

  constructor(settings: Settings) {
    const label = settings.string("label");
    const limit = settings.integerOr("limit", 3);
    const share = settings.numberOr("share", 0.5);
    const strict = settings.booleanOr("strict", false);
    const memory = settings.quantityOr("memory", "1Gi");
    const pools = settings.strings("pools");
    const weights = settings.stringMap("weights");
    const rest = settings.json("rest");
    if (limit < 1) settings.refuse("limit: expected 1 or more, found " + limit.toString());
    const numbers = [limit.toString(), share.toString(), strict.toString(), memory.value.toString()];
    const lists = [pools.join("+"), weights.keys().join("+"), weights.values().join("+")];
    this.told = label + " " + numbers.join(" ") + " " + lists.join(" ") + " " + (rest === null ? "-" : shown(rest));
  }

  filter(pod: Pod, node: Node): Verdict {
    const quantity = pod.annotation("quantity");
    if (quantity !== null) return unschedulable(amounts(quantity));
    const json = pod.annotation("json");
    if (json !== null) return unschedulable(shown(Json.parse(json)));
    const echo = pod.annotation("echo");
    if (echo !== null) return unschedulable(echo);
    if (pod.annotation("half") !== null) return unschedulable("😀".charAt(0));
    return this.told == "" ? fits : unschedulable(this.told);
  }
}

function amounts(text: string): string {
  const quantity = Quantity.parse(text);
  return quantity === null ? "none" : quantity.value.toString() + " " + quantity.millis.toString();
}

/** The value with its kinds: texts in quotation marks, whole numbers by their value, other numbers as they were written. */
function shown(json: Json): string {
  const integer = json.integer;
  const text = json.string;
  if (integer !== null) return integer.value.toString();
  if (text !== null) return '"' + text + '"';
  if (json.kind == JsonKind.List) return "[" + json.items.map<string>((item: Json) => shown(item)).join(",") + "]";
  if (json.kind != JsonKind.Object) return json.raw;
  let members = "";
  for (let at = 0; at < json.keys.length; at++) members += json.keys[at] + ":" + shown(json.items[at]) + ";";
  return "{" + members + "}";
}
