/** Which files a command line can name. */
import { describe, expect, it } from 'vitest';
import { wordsOfRun, wordsOfScript } from '../../../src/tools/exec/exec.ts';

describe('the words of a run', () => {
  it.each([
    ['sh build.sh', 'build.sh'],
    ['cat<in.txt>out.txt', 'in.txt'],
    ['cd sub&&./run.sh;true', './run.sh'],
    ['python3 /work/tools/a.py', 'tools/a.py'],
    ['tar --file=a.tar -x', 'a.tar'],
    ['sh "my script.sh"', 'my script.sh'],
    ["sh 'other script.sh'", 'other script.sh'],
    ['PATH=bin:$HOME sh x', 'bin'],
    ['echo $(cat secret.sh)', 'secret.sh'],
  ])('%s names %s', (command, file) => {
    expect(wordsOfRun({ command })).toContain(file);
  });

  it('of an argument list are its arguments as they are, and the words in them', () => {
    const words = wordsOfRun({ argv: ['python3', '-c', 'open("data.csv")', 'my file.txt', '--out=x.txt'] });
    for (const file of ['data.csv', 'my file.txt', 'x.txt']) expect(words).toContain(file);
  });
});

describe('the words of a script', () => {
  it.each([
    ['#!/bin/sh\nset -e\n. ./env.sh\nsh build/step.sh "$1"', './env.sh'],
    ['#!/bin/sh\nset -e\nsh build/step.sh "$1"', 'build/step.sh'],
    ['include rules.mk\nall:\n\tsh tools/run.sh', 'tools/run.sh'],
    ['from tools.clean import all_of_it', 'tools/clean.py'],
    ['import json\nimport   helper', 'helper.py'],
    ["const { run } = require('./lib/run')", './lib/run.js'],
    ["import { run } from './lib/run.mjs';", './lib/run.mjs'],
    ['source settings', 'settings.sh'],
  ])('%j name %s', (text, file) => {
    expect(wordsOfScript(text)).toContain(file);
  });
});
