/** Texts that make a backtracking pattern slow: built from the pattern's own parts, plus some that are always tried. */
import { type Part, readPattern } from './read-pattern.ts';

/** A unit that is repeated between a start and an end. */
export interface Attack {
  before: string;
  unit: string;
  after: string;
}

/** Characters that atoms are tried on. */
const ALPHABET = [
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)),
  ...'\t\n\r\0\u00A0\u00E9\u2028\u200B\u201C\u3002\uD55C\uFFFD\uD800'.split(''),
];
/** Number of characters tried per atom, and number of repetitions that counts as long. */
const CHARACTERS_PER_ATOM = 3;
const LONG = 8;
/** Ends at which a repetition may fail. */
const ENDS = ['', '\0', '\n', '!'];

/** Tried on every pattern: address and markup characters, blanks, brackets, digits, and JSON. */
const ALWAYS: readonly string[] = [
  'a.',
  'a',
  ' ',
  '\n',
  ' \n',
  '(',
  ')',
  '://',
  'a:',
  '<',
  '0',
  '\\',
  '"',
  '{"a":',
  '\t',
  '* ',
  '_',
];

/** The attacks on one pattern. */
export function attacksOn(pattern: RegExp): Attack[] {
  const tree = readPattern(pattern.source);
  const characters = charactersOf(tree, pattern.flags);
  const attacks = new Map<string, Attack>();
  const add = (before: string, unit: string, after: string): void => {
    if (unit !== '') attacks.set(JSON.stringify([before, unit, after]), { before, unit, after });
  };
  for (const unit of ALWAYS) add('', unit, '');
  const frequent = [...new Set([...characters.values()].flat())].slice(0, 8);
  for (const one of frequent) for (const other of frequent) add('', one === other ? one : one + other, '\0');
  for (let variant = 0; variant < CHARACTERS_PER_ATOM; variant += 1) {
    const whole = sampleOf(tree, characters, variant);
    for (let end = 1; end <= Math.min(whole.length, 12); end += 1) add('', whole.slice(0, end), '');
    add('', `${whole} `, '');
    add('', `${whole}\n`, '');
    for (const { before, body } of repetitions(tree, characters, variant)) {
      const unit = sampleOf(body, characters, variant);
      for (const end of ENDS) add(before, unit, end);
      add('', before + unit, '\0');
      // Many starts, each followed by a blank or a line: `(begin …)(begin …)`.
      add('', `${before}${unit} `, '');
    }
  }
  return [...attacks.values()];
}

/** Builds the text of an attack, of the given length in UTF-16 units. */
export function textOf({ before, unit, after }: Attack, length: number): string {
  const room = Math.max(0, length - before.length - after.length);
  return before + unit.repeat(Math.ceil(room / unit.length)).slice(0, room) + after;
}

type Characters = ReadonlyMap<string, readonly string[]>;

/** Characters for each atom: first those that match most of the pattern's atoms, and one that matches few. */
function charactersOf(tree: Part, flags: string): Characters {
  const kept = flags.replaceAll(/[gym]/g, '');
  const atoms = new Set(atomsIn(tree));
  const matching = [...atoms].map((source): [string, string[]] => {
    const matches = new RegExp(`^(?:${source})$`, kept);
    return [source, ALPHABET.filter((character) => matches.test(character))];
  });
  const uses = new Map<string, number>();
  for (const [, found] of matching) for (const one of found) uses.set(one, (uses.get(one) ?? 0) + 1);
  return new Map(
    matching.map(([source, found]) => {
      const ranked = found.toSorted((a, b) => (uses.get(b) ?? 0) - (uses.get(a) ?? 0));
      return [source, [...ranked.slice(0, CHARACTERS_PER_ATOM - 1), ...ranked.slice(-1)]];
    }),
  );
}

function atomsIn(part: Part): string[] {
  switch (part.kind) {
    case 'atom':
      return [part.source];
    case 'sequence':
      return part.parts.flatMap(atomsIn);
    case 'choice':
      return part.options.flatMap(atomsIn);
    case 'repeat':
      return atomsIn(part.body);
    case 'assertion':
      return part.body === undefined ? [] : atomsIn(part.body);
    default:
      return part satisfies never;
  }
}

/** A text that the part is likely to match; `variant` selects among options and characters. */
function sampleOf(part: Part, characters: Characters, variant: number): string {
  switch (part.kind) {
    case 'atom': {
      const found = characters.get(part.source) ?? [];
      return found[Math.min(variant, found.length - 1)] ?? '';
    }
    case 'sequence':
      return part.parts.map((one) => sampleOf(one, characters, variant)).join('');
    case 'choice':
      return sampleOf(part.options[variant % part.options.length]!, characters, variant);
    case 'repeat':
      return sampleOf(part.body, characters, variant).repeat(Math.max(1, Math.min(part.min, 40)));
    case 'assertion':
      return '';
    default:
      return part satisfies never;
  }
}

/** Every long repetition in the part, with a text that leads to it. */
function repetitions(
  part: Part,
  characters: Characters,
  variant: number,
  before = '',
): { before: string; body: Part }[] {
  switch (part.kind) {
    case 'atom':
      return [];
    case 'sequence': {
      let lead = before;
      return part.parts.flatMap((one) => {
        const found = repetitions(one, characters, variant, lead);
        lead += sampleOf(one, characters, variant);
        return found;
      });
    }
    case 'choice':
      return part.options.flatMap((option) => repetitions(option, characters, variant, before));
    case 'repeat': {
      const inside = repetitions(part.body, characters, variant, before);
      return part.max < LONG ? inside : [{ before, body: part.body }, ...inside];
    }
    case 'assertion':
      return part.body === undefined ? [] : repetitions(part.body, characters, variant, before);
    default:
      return part satisfies never;
  }
}
