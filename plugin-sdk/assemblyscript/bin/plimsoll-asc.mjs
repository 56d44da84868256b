#!/usr/bin/env node
import { main } from "../builder/command.mjs";

process.exitCode = await main(process.argv.slice(2));
