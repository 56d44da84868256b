// Memory for texts on their way to and from the host. It is taken from the end of a chunk and given back as a whole, so a
// read costs no allocation. The garbage collector knows nothing of it: it must hold no references.

/** Bytes of the chunk that every module has; longer texts get a chunk of their own, until they have been read. */
const FIRST_SIZE: usize = 8192;
const FIRST: usize = memory.data(8192, 8);

/** At least this much for each further chunk, in bytes. */
const CHUNK_SIZE: usize = 32768;

/** Each further chunk begins with the address of the chunk before it, and with the end of that. */
const HEADER_SIZE: usize = 8;

let chunk: usize = FIRST;
let next: usize = FIRST;
let end: usize = FIRST + FIRST_SIZE;

/** Takes memory until `release`. */
export function take(size: usize): usize {
  if (size > end - next) addChunk(size);
  const at = next;
  next = at + aligned(size);
  return at;
}

function addChunk(size: usize): void {
  const length = aligned(max(CHUNK_SIZE, size + HEADER_SIZE));
  const added = heap.alloc(length);
  store<usize>(added, chunk);
  store<usize>(added + 4, end);
  chunk = added;
  next = added + HEADER_SIZE;
  end = added + length;
}

/** A size that keeps all addresses aligned for 64 bits. */
function aligned(size: usize): usize {
  return (size + 7) & ~7;
}

/** The place to which `release` goes back. */
export function mark(): usize {
  return next;
}

/** Gives back all memory that was taken since the mark. */
export function release(to: usize): void {
  while (chunk != FIRST && (to <= chunk || to > end)) {
    const left = chunk;
    chunk = load<usize>(left);
    end = load<usize>(left + 4);
    heap.free(left);
  }
  next = to;
}

/** Gives back all memory: the answer of the call before has been read. */
export function releaseAll(): void {
  release(FIRST);
}

/** Writes a text in UTF-8, and its address and length to `at`. */
export function lowerText(text: string, at: usize = take(8)): usize {
  const length = <usize>String.UTF8.byteLength(text);
  const bytes = take(length);
  // Half of a surrogate pair is no character, and the host accepts only UTF-8.
  String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, bytes, false, String.UTF8.ErrorMode.REPLACE);
  store<usize>(at, bytes);
  store<usize>(at + 4, length);
  return at;
}

/** The text whose address and length are at `at`. */
export function liftText(at: usize): string {
  return String.UTF8.decodeUnsafe(load<usize>(at), load<usize>(at + 4));
}

/** Memory for what the host writes. */
export function reallocate(old: usize, oldSize: usize, align: usize, size: usize): usize {
  const at = take(size);
  memory.copy(at, old, min(oldSize, size));
  return at;
}
