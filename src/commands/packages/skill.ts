/** `parley skill`: an owner lists, adds, trusts, updates and removes skills. */
import path from 'node:path';
import { loadConfig } from '../../config.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { writeWhole } from '../../settings/index.ts';
import {
  describeChanges,
  describeSkill,
  type HomeSkill,
  skillLine,
  type SkillFolder,
  Skills,
} from '../../skills/index.ts';
import { readArguments } from '../arguments.ts';
import { type Dialog, openDialog } from '../dialog.ts';

const USAGE = `Expected: skill [list] | add SOURCE [NAME...] [--all] [--trust] | show NAME | trust NAME | update [NAME] [--yes] | remove NAME. See: ${PARLEY} skill --help`;

/** What an answer at the terminal begins with that agrees. */
const YES = /^y/i;
/** What the model does with a skill, said before an owner agrees. */
const MEANING =
  'The model follows the instructions of a skill that you trust, and exec may run its programs.';

/** Reads and runs the arguments after `skill`; returns the text to print. Throws `GatewayError`. */
export async function skillCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  dialog: Dialog = openDialog(process.stdin.isTTY ? process.stdin : undefined, process.stdout),
): Promise<string> {
  const options = {
    all: { type: 'boolean', default: false },
    trust: { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
  } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [action = 'list', name, ...more] = positionals;
  const { home } = loadConfig(env);
  const skills = new Skills(home, path.join(home, 'workspace', 'skills'), writeWhole);
  try {
    if (action === 'list' && name === undefined) return await list(skills);
    if (action === 'add' && name !== undefined)
      return await add(skills, dialog, name, { ...values, names: more });
    if (action === 'update' && more.length === 0) return await update(skills, dialog, name, values.yes);
    if (name === undefined || more.length > 0) throw new GatewayError('usage', USAGE);
    const skill = await skills.find(name);
    if (action === 'show') return describeSkill(await skills.read(skill));
    if (action === 'trust') return await trust(skills, skill);
    if (action === 'remove') return await remove(skills, skill);
    throw new GatewayError('usage', USAGE);
  } finally {
    dialog.close();
  }
}

async function list(skills: Skills): Promise<string> {
  const { skills: all, problems } = await skills.list();
  if (all.length + problems.length === 0)
    return `No skills yet. Add one from a folder, a .zip file or a Git repository: ${PARLEY} skill add SOURCE`;
  return [...all.map(skillLine), ...problems.map((problem) => `problem: ${problem}`)].join('\n');
}

interface Choice {
  names: readonly string[];
  all: boolean;
  trust: boolean;
}

async function add(skills: Skills, dialog: Dialog, source: string, choice: Choice): Promise<string> {
  return await skills.withSource(source, async (candidates) => {
    const selection = choose(candidates, choice);
    const existing = new Set((await skills.list()).skills.map(({ folder }) => folder));
    const duplicate = selection.find(({ folder }) => existing.has(folder));
    if (duplicate !== undefined)
      throw new GatewayError(
        'skill_exists',
        `There is a skill ${duplicate.folder} already. ${PARLEY} skill update ${duplicate.folder} fetches it again; ${PARLEY} skill remove ${duplicate.folder} makes room for another one.`,
      );
    dialog.say(selection.map(describeSkill).join('\n'));
    const question = `${MEANING}\nTrust ${selection.length === 1 ? 'it' : `these ${selection.length}`}? [y/N]`;
    const isTrusted = choice.trust || YES.test(await dialog.ask(question, ''));
    await skills.store(selection, source, isTrusted);
    const names = selection.map(({ folder }) => folder).join(', ');
    return isTrusted
      ? `Added: ${names}. The next message has ${selection.length === 1 ? 'it' : 'them'}.`
      : `Added, but not trusted: ${names}. The model does not see ${selection.length === 1 ? 'it' : 'them'} before "${PARLEY} skill trust NAME".`;
  });
}

/** Those that were named; the only one; all. Throws `GatewayError('usage')` with the names if that leaves a choice. */
function choose(candidates: readonly SkillFolder[], { names, all }: Choice): readonly SkillFolder[] {
  const existing = candidates.map(({ folder }) => folder).join(', ');
  const missing = names.find((name) => candidates.every(({ folder }) => folder !== name));
  if (missing !== undefined)
    throw new GatewayError(
      'usage',
      `The source holds no skill ${missing.slice(0, 64)}. It holds: ${existing}.`,
    );
  if (names.length > 0) return candidates.filter(({ folder }) => names.includes(folder));
  if (all || candidates.length === 1) return candidates;
  throw new GatewayError(
    'usage',
    `The source holds ${candidates.length} skills. Name those you want after it, or add --all: ${existing}.`,
  );
}

async function trust(skills: Skills, skill: HomeSkill): Promise<string> {
  if (skill.isTrusted) return `The model sees ${skill.folder} already.`;
  if (skill.isChanged)
    throw new GatewayError(
      'skill_changed',
      `The files of ${skill.folder} are not those that were added: remove it, and add it again.`,
    );
  await skills.trust(skill);
  return `Trusted: ${skill.folder}. The next message has it.`;
}

async function remove(skills: Skills, skill: HomeSkill): Promise<string> {
  await skills.remove(skill);
  return `Removed: ${skill.folder}.`;
}

async function update(
  skills: Skills,
  dialog: Dialog,
  name: string | undefined,
  agrees: boolean,
): Promise<string> {
  const all = name === undefined ? (await skills.list()).skills : [await skills.find(name)];
  const lines: string[] = [];
  for (const skill of all) {
    if (skill.source !== undefined) lines.push(await updateOne(skills, dialog, skill, skill.source, agrees));
    else if (name !== undefined) lines.push(`${name} was written here: there is nothing to fetch.`);
  }
  return lines.length === 0 ? 'No skill came from elsewhere.' : lines.join('\n');
}

async function updateOne(
  skills: Skills,
  dialog: Dialog,
  skill: HomeSkill,
  source: string,
  agrees: boolean,
): Promise<string> {
  return await skills.withSource(source, async (candidates) => {
    const fresh = candidates.find(({ folder }) => folder === skill.folder);
    if (fresh === undefined)
      return `${skill.folder}: ${source} does not hold it any more; the installed one stays.`;
    if (fresh.hash === skill.hash) return `${skill.folder}: nothing is new.`;
    dialog.say(describeChanges(await skills.read(skill), fresh));
    const local = skill.isChanged
      ? `The files here were changed since they were installed; that is lost. `
      : '';
    const isAgreed =
      agrees || YES.test(await dialog.ask(`${local}Install this version of ${skill.folder}? [y/N]`, ''));
    if (!isAgreed) return `${skill.folder}: the installed version stays.${agrees ? '' : ' --yes agrees.'}`;
    await skills.store([fresh], source, skill.isTrusted);
    return `Updated: ${skill.folder}.`;
  });
}
