#!/usr/bin/env node
// What it runs is built later: this is there already when a fresh clone is installed, so that npm links the command.
import "../dist/cli.js";
