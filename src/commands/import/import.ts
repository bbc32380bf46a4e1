/** `parley import`: chats, memories, schedules, skills and prompt files of another program. */
import type { Config } from '../../config.ts';
import { hasScope } from '../../protocol/access.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { closestNames, oneLine } from '../../lib/text.ts';
import type { HomeStore } from '../../store/index.ts';
import { readArguments } from '../arguments.ts';
import { readHermes } from './hermes.ts';
import type { ReadItems } from './items.ts';
import { readNanobot } from './nanobot.ts';
import { readOpenWebui } from './open-webui.ts';
import { readOpenclaw } from './openclaw.ts';
import { createReceiver } from './receive.ts';
import { createReport } from './report.ts';
import { openSourceFolder, type SourceFolder } from './source-folder.ts';

interface Program {
  name: string;
  read(source: SourceFolder, user: string | undefined): ReadItems;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  openclaw: { name: 'OpenClaw', read: readOpenclaw },
  hermes: { name: 'Hermes Agent', read: readHermes },
  nanobot: { name: 'nanobot', read: readNanobot },
  'open-webui': { name: 'Open WebUI', read: readOpenWebui },
};

const USAGE = `Expected: import ${Object.keys(PROGRAMS).join('|')} FOLDER [--dry-run] [--prompts] [--token ID] [--user EMAIL]. See: ${PARLEY} import --help`;

/** Runs a parsed command, and returns the text to print. Throws `GatewayError`. */
export type ImportAct = (store: HomeStore, config: Config) => Promise<string>;

/** Reads the arguments after `import`. Throws `GatewayError('usage')`. */
export function importCommand(args: readonly string[]): ImportAct {
  const options = {
    'dry-run': { type: 'boolean', default: false },
    prompts: { type: 'boolean', default: false },
    token: { type: 'string' },
    user: { type: 'string' },
  } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [program = '', folder, ...more] = positionals;
  const { name, ...reader } = programOf(program);
  if (folder === undefined || more.length > 0) throw new GatewayError('usage', USAGE);
  if (values.user !== undefined && program !== 'open-webui')
    throw new GatewayError(
      'usage',
      `--user is for open-webui, whose database has several people; ${name} has one.`,
    );
  const { 'dry-run': dryRun, prompts, token, user } = values;
  return async (store, config) => {
    const source = await openSourceFolder(folder);
    const report = createReport(`From ${name} in ${oneLine(source.root)}:`);
    const tokenId = await ownerOf(store, token);
    const receive = createReceiver({ store, config, program, tokenId, dryRun, prompts }, report);
    try {
      for await (const item of reader.read(source, user)) await receive(item);
    } catch (error) {
      const problem = toGatewayError(error);
      if (problem.code === 'usage' || problem.code === 'import_format') throw problem;
      const rest =
        'What was imported before stays; run this again once that is mended, and nothing is imported twice.';
      throw new GatewayError(problem.code, `${problem.message}\n${rest}\n\n${report.text(dryRun)}`, {
        cause: error,
      });
    }
    return report.text(dryRun);
  };
}

function programOf(word: string): Program {
  const program = Object.hasOwn(PROGRAMS, word) ? PROGRAMS[word] : undefined;
  if (program !== undefined) return program;
  const [close] = closestNames(word, Object.keys(PROGRAMS));
  const hint =
    word === '' || close === undefined
      ? ''
      : `There is no import from "${oneLine(word).slice(0, 40)}". Did you mean ${close}? `;
  throw new GatewayError('usage', `${hint}${USAGE}`);
}

/** The token whose sessions they become: the given one, else the oldest admin's. */
async function ownerOf({ access }: HomeStore, tokenId: string | undefined): Promise<string> {
  const valid = (await access.tokens()).filter(({ expired }) => !expired);
  const token = valid.find((one) =>
    tokenId === undefined ? hasScope(one, 'admin') : one.tokenId === tokenId,
  );
  if (token !== undefined) return token.tokenId;
  const problem =
    tokenId === undefined
      ? 'There is no token yet whose chats these could become: start the gateway once, or make one'
      : `There is no token ${oneLine(tokenId).slice(0, 80)}`;
  throw new GatewayError('unknown_token', `${problem}. See: ${PARLEY} token`);
}
