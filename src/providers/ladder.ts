/** What is sent after a refusal: less of the request, one step a call, until it is accepted or nothing is left. */
import { isDeepStrictEqual } from 'node:util';
import { fieldOf, type Omission } from '../protocol/agent/omissions.ts';
import type { RefusedParts } from './discovery.ts';
import { ProviderError, messageOf } from '../protocol/errors.ts';
import type { RefusalError } from './refusals.ts';
import type { ChatRequest } from '../protocol/agent/provider.ts';

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

/** Calls in all for one answer. */
export const MAX_LADDER_CALLS = 18;
/** How long after the first refusal another one is still answered by a further call, in milliseconds. */
export const LADDER_MS = 20_000;
/** Pause before a server that reported a failure is asked whether it says the same again, in milliseconds. */
const SAME_AGAIN_MS = 250;

/**
 * The steps of one answer. A part that changed nothing is put back; if the refusal changed, it was one of several
 * causes, and stays out.
 */
export class Ladder {
  readonly #parts: RefusedParts;
  readonly #callFor: (omitted: ReadonlySet<Omission>) => RefusedCall;
  readonly #monotonicNow: () => number;
  readonly #inEffect: ReadonlySet<Omission>;
  /** Left out in every further call. */
  #base: ReadonlySet<Omission>;
  #omitted: ReadonlySet<Omission>;
  #rungs: Omission[][] = [];
  #sent: Readonly<Record<string, unknown>>[] = [];
  #first: { error: RefusalError; at: number } | undefined;
  #words: string | undefined;
  #confirmed = false;
  #calls = 1;

  /** `callFor` makes what would be sent without these parts. */
  constructor(
    parts: RefusedParts,
    callFor: (omitted: ReadonlySet<Omission>) => RefusedCall,
    monotonicNow: () => number,
  ) {
    this.#parts = parts;
    this.#callFor = callFor;
    this.#monotonicNow = monotonicNow;
    this.#inEffect = parts.current;
    this.#base = this.#inEffect;
    this.#omitted = this.#inEffect;
  }

  /** The parts that are left out of the current call. */
  get omitted(): ReadonlySet<Omission> {
    return this.#omitted;
  }

  /** The parts that are left out of the current call, and were not when the first was made. */
  get added(): Omission[] {
    return [...this.#omitted].filter((part) => !this.#inEffect.has(part));
  }

  /** Whether the server says that the model sees no pictures, rather than that it could not read these. */
  get blind(): boolean {
    return this.#first !== undefined && saysBlind(this.#first.error.reason);
  }

  /** Takes the next step after a refusal; returns the pause before it in milliseconds, or throws the answer's error. */
  next(error: RefusalError): number {
    const now = this.#monotonicNow();
    const words = wordsOf(error);
    this.#first ??= { error, at: now };
    if (error.isFailure && !this.#confirmed) {
      if (this.#words === undefined) {
        this.#words = words;
        this.#calls += 1;
        return SAME_AGAIN_MS;
      }
      // Another failure each time is an outage, and passes.
      if (words !== this.#words) throw error;
      this.#confirmed = true;
      this.#words = undefined;
    }
    if (words !== this.#words) this.#turnTo(error);
    this.#words = words;
    if (this.#calls < MAX_LADDER_CALLS && now - this.#first.at < LADDER_MS) {
      const omitted = this.#step();
      if (omitted !== undefined) {
        this.#omitted = omitted;
        this.#calls += 1;
        return 0;
      }
    }
    throw finalError(this.#first.error);
  }

  /** Begins again with the rungs for other words; what is left out by now helped against those before. */
  #turnTo(error: RefusalError): void {
    const isFirst = this.#rungs.length === 0 && this.#sent.length === 0;
    if (!isFirst) this.#base = this.#omitted;
    const call = this.#callFor(this.#base);
    this.#sent.push(call.body);
    const previous = this.#parts.previous;
    this.#rungs = [...(isFirst && previous.length > 0 ? [previous] : []), ...rungsFor(call, error.reason)];
  }

  /** The next step that changes what is sent. */
  #step(): ReadonlySet<Omission> | undefined {
    for (let rung = this.#rungs.shift(); rung !== undefined; rung = this.#rungs.shift()) {
      const omitted = new Set([...this.#base, ...rung]);
      const { body } = this.#callFor(omitted);
      if (this.#sent.some((other) => isDeepStrictEqual(other, body))) continue;
      this.#sent.push(body);
      return omitted;
    }
    return undefined;
  }
}

/** The body without the fields that are left out, and without those that are undefined. */
export function withoutFields(
  body: object,
  omitted: ReadonlySet<Omission>,
): Readonly<Record<string, unknown>> {
  const fields = new Set([...omitted].flatMap((part) => fieldOf(part) ?? []));
  return Object.fromEntries(
    Object.entries(body).filter(([field, value]) => value !== undefined && !fields.has(field)),
  );
}

/** The words without what changes between two equal refusals: numbers, and ids of requests. */
function wordsOf({ reason }: RefusalError): string {
  return reason.replaceAll(/[\w-]+/g, (word) => (/\d/.test(word) ? '#' : word));
}

/** A refusal that nothing helped against will not pass: the same call is not repeated. */
function finalError(error: RefusalError): ProviderError {
  if (!error.retryable) return error;
  return new ProviderError(error.code, messageOf(error), { cause: error });
}

/**
 * The rungs for a refusal, each a set of parts that are left out together: those that the words hint at, then from the
 * cheapest to the costliest; the last two are all cheap ones, and all.
 */
function rungsFor(call: RefusedCall, words: string): Omission[][] {
  const { request, body, extras, options } = call;
  const fields = [...extras, ...options].filter((field) => body[field] !== undefined);
  const namedFields = fields.filter((field) => names(words, field));
  const thinking = WITHOUT_THINKING.test(words)
    ? THINKING_FIELDS.filter((field) => fields.includes(field))
    : [];
  const extraParts = extras.filter((field) => fields.includes(field)).map(toPart);
  const free: Omission[] = ['system_role', ...extraParts, 'echoes', 'tool_schemas', 'parallel_calls'];
  const servers = serversOf(request);
  const rungs: Omission[][] = [
    ['system_role'],
    extraParts,
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
    ...[namedFields, thinking].filter((group) => group.length > 0).map((group) => group.map(toPart)),
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
function saysBlind(words: string): boolean {
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
  const neighbors = `${text[at - 1] ?? ' '}${text[at + name.length] ?? ' '}`;
  return !/\w/.test(neighbors);
}
