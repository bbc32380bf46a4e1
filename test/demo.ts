/** `npm run demo`: the gateway against a bundled stand-in for a model server, in a home that is thrown away at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TITLE_REQUEST } from '../src/agent/after-turn/title-worker.ts';
import { programFile } from '../src/launch/build.js';
import { run } from '../src/main.ts';
import { newToken } from '../src/security/token-lookup.ts';
import { writeDemoHome } from './fakes/demo/home.ts';
import { demoAnswer, demoTitle } from './fakes/demo/answer.ts';
import { startFakeOllama } from './fakes/ollama/ollama.ts';

// The page is served from what a build has written, and a fresh clone has none.
await programFile(
  path.resolve(import.meta.dirname, '..'),
  true,
  (line) => void process.stderr.write(`${line}\n`),
);

const home = mkdtempSync(path.join(tmpdir(), 'parley-demo-'));
process.once('exit', () => rmSync(home, { recursive: true, force: true }));
await writeDemoHome(home);

const model = await startFakeOllama({ fallback: demoAnswer });
model.answer(demoTitle, { when: TITLE_REQUEST, times: Infinity });
const token = process.env['GATEWAY_TOKEN'] || newToken();
// None of the machine's real settings: no bots, no database, no home.
for (const name of ['DATABASE_URL', 'NATS_URL', 'MODEL', 'TELEGRAM_BOT_TOKEN', 'DISCORD_BOT_TOKEN'])
  delete process.env[name];
Object.assign(process.env, {
  GATEWAY_HOME: home,
  GATEWAY_TOKEN: token,
  OLLAMA_HOST: model.url,
  LOG_LEVEL: process.env['LOG_LEVEL'] || 'warn',
});

await run({ demo: true });
if (process.exitCode === undefined) {
  process.stdout.write(
    `This is a demo: no model runs, and everything is gone when you press Ctrl-C.\nSign in with the token  ${token}\n\n`,
  );
} else await model.close();
