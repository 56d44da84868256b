// A program that answers on standard output as the pod tells it to: it writes the annotation `say`, or does what the annotation
// `do` names. Without a libc: these are the imports of WASI preview 1 itself.

typedef unsigned char byte;
typedef unsigned u32;
typedef struct { void *at; u32 length; } vector;

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
WASI(fd_read) u32 fd_read(u32 fd, vector *vectors, u32 count, u32 *got);
WASI(fd_write) u32 fd_write(u32 fd, const vector *vectors, u32 count, u32 *put);
WASI(args_get) u32 args_get(char **arguments, char *texts);
WASI(args_sizes_get) u32 args_sizes_get(u32 *count, u32 *size);
WASI(proc_exit) _Noreturn void proc_exit(u32 code);

static byte input[2 << 20], output[8 << 20];
static u32 got;

static u32 length_of(const char *text) {
	u32 length = 0;
	while (text[length]) length++;
	return length;
}

static void write_to(u32 fd, const void *text, u32 length) {
	vector whole = {(void *)text, length};
	u32 put;
	fd_write(fd, &whole, 1, &put);
}

static void say(const char *text) { write_to(1, text, length_of(text)); }

static int begins(const byte *text, const char *with) {
	while (*with)
		if (*text++ != (byte)*with++) return 0;
	return 1;
}

// Reads by vectors of odd sizes, so that each request is read in many pieces.
static void read_all(void) {
	for (;;) {
		vector pieces[3] = {{input + got, 1}, {input + got + 1, 0}, {input + got + 1, 4001}};
		u32 more = 0;
		if (got + 4002 > sizeof input || fd_read(0, pieces, 3, &more) || more == 0) return;
		got += more;
	}
}

static const byte *value_of(const char *key) {
	for (u32 at = 0; at + 8 < got; at++)
		if (begins(input + at, key)) return input + at + length_of(key);
	return 0;
}

// The text of the annotation, in which a backslash stands before each quote.
static void say_value(const byte *text) {
	u32 length = 0;
	for (; *text != '"'; text++) {
		if (*text == '\\') text++;
		output[length++] = *text;
	}
	write_to(1, output, length);
}

static void say_arguments(void) {
	static char *arguments[8];
	static char texts[64];
	u32 count, size;
	args_sizes_get(&count, &size);
	if (count != 2 || size > sizeof texts) __builtin_trap();
	args_get(arguments, texts);
	say("{\"Error\":\""), say(arguments[0]), say(" "), say(arguments[1]), say("\"}");
}

static void grow(void) {
	while (__builtin_wasm_memory_grow(0, 64) != (__SIZE_TYPE__)-1) {
	}
	__builtin_trap();
}

static void misbehave(const byte *what) {
	u32 ignored;
	if (begins(what, "loop")) for (;;) __asm__ volatile("");
	if (begins(what, "flood")) for (u32 n = 0; n < 16384; n++) write_to(1, output, 64 << 10);
	if (begins(what, "gulp")) write_to(1, output, sizeof output);
	if (begins(what, "whisper")) for (;;) write_to(1, " ", 1);
	if (begins(what, "log")) for (u32 n = 0; n < 100; n++) write_to(2, "told\n", 5);
	if (begins(what, "exit")) write_to(2, "no licence server\n", 18), proc_exit(3);
	if (begins(what, "leave")) say("{\"NodeNames\":[\"n0\",\"n1\",\"n2\",\"n3\"]}"), proc_exit(0);
	if (begins(what, "trap")) __builtin_trap();
	if (begins(what, "grow")) grow();
	if (begins(what, "arguments")) say_arguments();
	if (begins(what, "beyond")) fd_read(0, (vector *)0xfffffff8u, 1, &ignored);
	if (begins(what, "unaligned")) fd_read(0, (vector *)(output + 1), 1, &ignored);
	if (begins(what, "outside")) write_to(1, (void *)0xfffff000u, 0x2000);
	if (begins(what, "closed")) {
		vector piece = {output, 8};
		if (fd_read(0, &piece, 1, &ignored) || ignored || fd_read(1, &piece, 1, &ignored) != 8) __builtin_trap();
		say("{\"Error\":\"the end is the end\"}");
	}
}

__attribute__((export_name("_start"))) void start(void) {
	read_all();
	const byte *text = value_of("\"say\":\"");
	if (text) say_value(text);
	const byte *what = value_of("\"do\":\"");
	if (what) misbehave(what);
}
