/** The rungs of the ladder: which parts of a request are left out first when its server refuses it. */
import type { Omission } from '../../protocol/agent/omissions.ts';
import type { ChatRequest } from '../../protocol/agent/provider.ts';

/** MCP servers whose tools are left out one at a time; with more of them, only all tools are. */
const MAX_SERVERS = 3;

/** What a request is sent as, and which of its fields can be left out. */
export interface RefusedCall {
  request: ChatRequest;
  body: Readonly<Record<string, unknown>>;
  /** Fields of the body that the gateway adds on its own: no answer depends on them. */
  extras: readonly string[];
  /** Fields that change the answer: they are left out only when the server names them. */
  options: readonly string[];
}

/** A hint in the words of a server: where they match, the rung with this part is tried first, the most telling before others. */
const HINTS: readonly { words: RegExp; part: Omission }[] = [
  { words: /\b(images?|pictures?|vision|multi-?modal|image_url|mmproj)\b/i, part: 'newest_pictures' },
  {
    words:
      /missing.{0,20}(reasoning|thought(?!.?signature))|(reasoning|thought(?!.?signature)).{0,60}(must be|is) (passed|sent|required)/i,
    part: 'missing_thoughts',
  },
  { words: /missing.{0,20}signature/i, part: 'missing_signatures' },
  { words: /reasoning_(content|details)|extra_content|thought.?signature/i, part: 'echoes' },
  { words: /single tool.?calls?|parallel tool|one tool call/i, part: 'parallel_calls' },
  {
    words: /alternat|role.{0,3}tool|tool.?call|tool.?result|function.?(call|response)/i,
    part: 'tool_exchanges',
  },
  {
    words: /schema|grammar|\bpattern\b|\bformat\b|unmarshal|\$ref|properties|parameters/i,
    part: 'tool_schemas',
  },
  { words: /\bsystem\b|\broles?\b/i, part: 'system_role' },
  {
    words:
      /(not|n't) support.{0,12}\b(tools?|function)|(tools?|tool use|tool calling|function calling) (is|are) not|support(s)? tool use|auto-tool-choice|tool-call-parser|--jinja/i,
    part: 'tools',
  },
];

/** Words for "this model sees nothing", after which it is shown no other picture either. */
const BLIND =
  /(image|vision|multi-?modal)( input)?s? (is|are) not supported|(does not|doesn't|not) support (image|vision|multi-?modal)|not a (multi-?modal|vision) model|unknown variant .image_url|mmproj|image_url.{0,40}(not supported|unsupported|not allowed)/i;
const WITHOUT_THINKING =
  /(does not|doesn't|not) support (thinking|reasoning)|(thinking|reasoning) (is|are) not supported/i;
const THINKING_FIELDS = ['think', 'chat_template_kwargs', 'reasoning_effort'];

/**
 * The rungs for a refusal in these words, each a set of parts that are left out together. Those that the words hint at
 * come first, then from what costs nothing to what costs most; the last two are all that costs nothing, and all there
 * is.
 */
export function rungsFor(call: RefusedCall, words: string): Omission[][] {
  const { request, body, extras, options } = call;
  const fields = [...extras, ...options].filter((field) => body[field] !== undefined);
  const named = fields.filter((field) => names(words, field));
  const thinking = WITHOUT_THINKING.test(words)
    ? THINKING_FIELDS.filter((field) => fields.includes(field))
    : [];
  const added = extras.filter((field) => fields.includes(field)).map(toPart);
  const free: Omission[] = ['system_role', ...added, 'echoes', 'tool_schemas', 'parallel_calls'];
  const servers = serversOf(request);
  const rungs: Omission[][] = [
    ['system_role'],
    added,
    ['echoes'],
    ['tool_schemas'],
    ...(servers.length > MAX_SERVERS ? [] : servers.map((server): Omission[] => [`tools:${server}`])),
    ['newest_pictures'],
    ['pictures'],
    ['parallel_calls'],
    ['missing_thoughts'],
    ['missing_signatures'],
    ['tool_exchanges'],
    ['tools'],
    free,
    [...free, 'pictures', 'tool_exchanges', 'tools'],
  ];
  const hints = hintsIn(words, request).filter((part) =>
    rungs.some(([only, more]) => only === part && !more),
  );
  return [
    ...(BLIND.test(words) ? [['pictures'] satisfies Omission[]] : []),
    ...[named, thinking].filter((group) => group.length > 0).map((group) => group.map(toPart)),
    ...hints.map((part) => [part]),
    ...rungs,
  ];
}

/** The parts that the words hint at; of a tool that they name, the tools of its MCP server. */
function hintsIn(words: string, { tools = [] }: ChatRequest): Omission[] {
  const hints = HINTS.flatMap((hint) => (hint.words.test(words) ? [hint.part] : []));
  const culprits = tools.flatMap(({ name, server }): Omission[] =>
    server !== undefined && names(words, name) ? [`tools:${server}`] : [],
  );
  return [
    ...hints.filter((part) => part !== 'tools'),
    ...culprits,
    ...hints.filter((part) => part === 'tools'),
  ];
}

/** Whether the words say that the model sees no picture at all. */
export function saysBlind(words: string): boolean {
  return BLIND.test(words);
}

function toPart(field: string): Omission {
  return `field:${field}`;
}

function serversOf({ tools = [] }: ChatRequest): string[] {
  return [...new Set(tools.flatMap(({ server }) => server ?? []))];
}

/** Whether a text has this name as a word. */
function names(text: string, name: string): boolean {
  const at = text.indexOf(name);
  if (at === -1) return false;
  const around = `${text[at - 1] ?? ' '}${text[at + name.length] ?? ' '}`;
  return !/\w/.test(around);
}
