/** The lock file is complete: npm 11 refuses one that lacks an optional package, which npm 10 leaves out if it is not published. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Package {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

test("the lock has every package that a package in it names", () => {
  // From the folder of the built test.
  const lock = readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8");
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Package>> };
  const named = Object.values(packages).flatMap(({ dependencies, optionalDependencies }) =>
    Object.keys({ ...dependencies, ...optionalDependencies }),
  );
  assert.deepEqual(named.filter((name) => !(`node_modules/${name}` in packages)), []);
});
