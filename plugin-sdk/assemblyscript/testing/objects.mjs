/** The objects of a test, and as the JSON that policies read fields of. */

/** The namespace of a pod. */
export function namespaceOf(pod) {
  return pod.namespace ?? "default";
}

/** A pod as the object of Kubernetes. */
export function podObject(pod) {
  const { controller } = pod;
  const metadata = without({
    name: pod.name ?? "",
    namespace: namespaceOf(pod),
    uid: pod.uid,
    labels: pod.labels,
    annotations: pod.annotations,
    creationTimestamp: pod.created?.toISOString().replace(/\.\d+Z$/, "Z"),
    ownerReferences: controller && [{ ...controller, controller: true }],
  });
  const requests = pod.requests === undefined ? [] : [{ resources: { requests: pod.requests } }];
  const containers = [...requests, ...(pod.images ?? []).map((image) => ({ image }))];
  const spec = { containers, ...without({ priority: pod.priority, priorityClassName: pod.priorityClass }) };
  return merged(pod.object ?? {}, { metadata, spec, ...(pod.phase ? { status: { phase: pod.phase } } : {}) });
}

/** A node as the object of Kubernetes, without the parts that no policy can read. */
export function nodeObject(node) {
  const sorted = (of = {}) => Object.entries(of).sort(([a], [b]) => compareTexts(a, b));
  const metadata = { name: node.name, ...without({ labels: node.labels, annotations: node.annotations }) };
  const spec = without({ taints: node.taints, unschedulable: node.unschedulable });
  const status = without({
    addresses: (node.addresses ?? []).map((address) => ({ type: "InternalIP", address })),
    conditions: sorted(node.conditions).map(([type, value]) => ({ type, status: value })),
    images: sorted(node.images).map(([image, sizeBytes]) => ({ names: [image], sizeBytes })),
    allocatable: node.allocatable,
    capacity: node.capacity,
  });
  return withoutUnreadable(merged(node.object ?? {}, { metadata, spec, status }));
}

/** The JSON text at an RFC 6901 pointer, with the keys of objects in order; `null` for none. */
export function atPointer(value, pointer) {
  if (pointer !== "" && !pointer.startsWith("/")) return null;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value) && /^(0|[1-9]\d*)$/.test(key) && Number(key) < value.length) value = value[Number(key)];
    else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return null;
  }
  return JSON.stringify(inOrder(value));
}

/** The order of texts by their bytes in UTF-8, which is that of their code points. */
export function compareTexts(one, other) {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return Buffer.compare(left, right);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The entries that have a value that Kubernetes would write. */
function without(entries) {
  const isEmpty = (value) =>
    !value || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(entries).filter(([key, value]) => key === "name" || !isEmpty(value)));
}

/** The object of a test with the values of its fields. */
function merged(given, fields) {
  const all = { ...given };
  for (const [key, value] of Object.entries(fields)) {
    const outer = all[key];
    all[key] = isObject(outer) && isObject(value) ? merged(outer, value) : value;
  }
  return all;
}

/** A node without the parts that no policy can read. */
function withoutUnreadable(node) {
  const { kind: _kind, apiVersion: _version, ...object } = node;
  const { managedFields: _fields, resourceVersion: _resource, ...metadata } = object["metadata"];
  const status = object["status"];
  const conditions = (status["conditions"] ?? []);
  if (conditions.length === 0) return { ...object, metadata };
  const withoutHeartbeats = conditions.map(({ lastHeartbeatTime: _time, ...condition }) => condition);
  return { ...object, metadata, status: { ...status, conditions: withoutHeartbeats } };
}

function inOrder(value) {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareTexts(a, b));
  return Object.fromEntries(entries.map(([key, member]) => [key, inOrder(member)]));
}
