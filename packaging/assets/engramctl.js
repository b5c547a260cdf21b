#!/usr/bin/env node
// Runs the program out of the package for this platform, which npm installed
// beside this one.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `engramctl-${process.platform}-${process.arch}`;
const exe = process.platform === "win32" ? "engramctl.exe" : "engramctl";

let program;
try {
  program = require.resolve(`${name}/bin/${exe}`);
} catch {
  console.error(`engramctl: the package ${name} is not installed. Either there is none for this platform, or npm left out optional dependencies (--omit=optional).`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (err) => {
  console.error(`engramctl: ${err.message}`);
  process.exit(1);
});
// Whoever ends this process means the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
