/** The rules of Kubernetes for annotations and labels, as the gateway checks them. */

const MAX_ENTRIES = 64;
const MAX_ANNOTATION_BYTES = 256 << 10;
const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
const NAME_RULE = "1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends";

type Entries = Readonly<Record<string, string>>;

/**
 * Makes the checks of the gateway.
 *
 * @throws RangeError where it ends the call as a fault.
 */
export function checkMetadata(annotations: Entries, labels: Entries): void {
  const breach = entriesBreach("annotation", annotations) ?? entriesBreach("label", labels) ?? sizeBreach(annotations);
  if (breach !== undefined) throw new RangeError(`the gateway would end this call as a fault: ${breach}`);
}

function entriesBreach(kind: string, entries: Entries): string | undefined {
  const all = Object.entries(entries);
  if (all.length > MAX_ENTRIES) return `${all.length} ${kind}s; at most ${MAX_ENTRIES} are allowed`;
  for (const [key, value] of all) {
    const wrong = keyBreach(kind, key);
    if (wrong !== undefined) return `the ${kind} key '${key}': ${wrong}`;
    if (kind === "label" && value !== "" && !NAME.test(value)) {
      return `the value '${value}' of the label ${key}: it must be empty, or ${NAME_RULE}`;
    }
  }
  return undefined;
}

function keyBreach(kind: string, key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = key.slice(0, Math.max(slash, 0));
  if (slash >= 0 && (prefix.length > 253 || !PREFIX.test(prefix))) {
    return "before its slash it must be a domain of at most 253 bytes, such as example.com";
  }
  if (/(^|\.)(kubernetes|k8s)\.io$/i.test(prefix)) return "kubernetes.io and k8s.io are Kubernetes' own";
  if (!NAME.test(key.slice(slash + 1))) return `its name must have ${NAME_RULE}`;
  return kind === "label" && prefix !== prefix.toLowerCase() ? "its domain must have no capital letters" : undefined;
}

function sizeBreach(annotations: Entries): string | undefined {
  const encoder = new TextEncoder();
  const size = Object.entries(annotations).reduce((sum, entry) => sum + encoder.encode(entry.join("")).length, 0);
  return size > MAX_ANNOTATION_BYTES ? `annotations of ${size} bytes; at most ${MAX_ANNOTATION_BYTES} are allowed` : undefined;
}
