#!/usr/bin/env node
import { main } from "../dist/builder/command.js";

// Not `exitCode`: a timer that the policy's top level has started would keep Node.js alive.
process.exit(await main(process.argv.slice(2)));
