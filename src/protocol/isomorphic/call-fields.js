/** The arguments of a call as texts that a person may edit, and back: the same in forms of chat networks and on the page. Pure. */

/**
 * One argument: its text, which is JSON unless the value is a text that shows everything it holds.
 * @typedef {{ name: string, text: string, isJson: boolean }} CallField
 */

/** The arguments as fields, in their order. @type {(args: Readonly<Record<string, unknown>>) => CallField[]} */
export function callFields(args) {
  return Object.entries(args).map(([name, value]) => {
    if (typeof value === 'string' && value.search(HIDDEN) < 0) return { name, text: value, isJson: false };
    return { name, text: editableJson(value), isJson: true };
  });
}

/**
 * The arguments with the texts that a person has entered in the order of `callFields`, or the names of the arguments whose
 * text is no JSON. A text that is the same but for spaces around it leaves its argument as it is, and JSON that was
 * emptied leaves it out. Never throws.
 * @param {Readonly<Record<string, unknown>>} args
 * @param {readonly (string | undefined)[]} texts undefined leaves an argument as it is
 * @returns {{ args: Record<string, unknown>, isChanged: boolean } | { notJson: string[] }}
 */
export function readCallFields(args, texts) {
  /** @type {[string, unknown][]} */
  const entries = [];
  /** @type {string[]} */
  const notJson = [];
  let isChanged = false;
  for (const [at, { name, text, isJson }] of callFields(args).entries()) {
    const entered = texts[at]?.replaceAll('\r\n', '\n');
    if (entered === undefined || entered.trim() === text.trim()) {
      entries.push([name, args[name]]);
      continue;
    }
    isChanged = true;
    if (!isJson) entries.push([name, entered]);
    else if (entered.trim() !== '') {
      const value = parse(entered);
      if (value === undefined) notJson.push(name);
      entries.push([name, value]);
    }
  }
  return notJson.length > 0 ? { notJson } : { args: Object.fromEntries(entries), isChanged };
}

/**
 * What is wrong with which argument, from lines that begin with its name (`- count must be of type number`), as the gateway
 * words them; empty if no line names one.
 * @type {(names: readonly string[], problem: string) => Record<string, string>}
 */
export function problemsByArgument(names, problem) {
  const lines = problem.split('\n').map((line) => line.replace(/^- /, ''));
  return Object.fromEntries(
    names.flatMap((name) => {
      const own = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}.`));
      return own.length === 0 ? [] : [[name, own.join('\n')]];
    }),
  );
}

/** Invisible and direction-changing characters but for line breaks and tabs: what is shown would not be what runs. */
const HIDDEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/u;

/** JSON in which each hidden character is escaped as JSON escapes it. @type {(value: unknown) => string} */
function editableJson(value) {
  const json = JSON.stringify(value, null, 2) ?? 'null';
  return json.replaceAll(new RegExp(HIDDEN, 'gu'), (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** The value of a JSON text; undefined if it is none. @type {(text: string) => unknown} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller names the argument.
    return undefined;
  }
}
