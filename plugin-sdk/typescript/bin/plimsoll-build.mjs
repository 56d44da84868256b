#!/usr/bin/env node
import { main } from "../dist/builder/command.js";

process.exitCode = await main(process.argv.slice(2));
