/** Selection menus: below the replies to commands that got no argument, if the possible arguments are known. */
import { ComponentType } from 'discord-api-types/v10';
import { z } from 'zod';
import { type CommandListing, MAX_SUGGESTIONS, type Suggest } from '../../../src/protocol/command.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { byWhom, placeholderOf, RawInteraction } from './read.ts';

/** Longest option that Discord accepts. */
const MAX_OPTION = 100;
/** Longest wait for the options, in milliseconds: they must not delay the reply. */
const SUGGEST_MS = 800;
/** For these, a suggestion is only the beginning of the argument. */
const NOT_WHOLE = ['schedule'];
const MESSAGE_COMPONENT = 3;
const SELECT = 3;
const CHOICE = /^choose:([-_a-z0-9]{1,32})$/;

const RawChoice = RawInteraction.extend({
  data: z.object({
    custom_id: z.string().regex(CHOICE),
    component_type: z.literal(SELECT),
    values: z.tuple([z.string().min(1).max(MAX_OPTION)]),
  }),
});
/** A choice from such a menu. */
export type RawChoice = z.infer<typeof RawChoice>;

/** Undefined for anything but a choice. */
export function readChoice(event: unknown): RawChoice | undefined {
  const { data } = RawChoice.safeParse(event);
  return data?.type === MESSAGE_COMPONENT ? data : undefined;
}

/** A choice as the command that it completes; undefined if Discord names no user. */
export function fromChoice(choice: RawChoice, now: number): InboundMessage | undefined {
  const by = byWhom(choice);
  const [, name = ''] = CHOICE.exec(choice.data.custom_id) ?? [];
  const [value] = choice.data.values;
  return by && { ...by, content: `/${name} ${value}`, placeholder: placeholderOf(choice, now) };
}

export interface SelectsParts {
  commands: readonly CommandListing[];
  suggest: Suggest;
}

export class Selects {
  readonly #parts: SelectsParts;

  constructor(parts: SelectsParts) {
    this.#parts = parts;
  }

  /** The rows below the reply to a command: none if it got an argument, or no options are known. Never throws. */
  async under(message: InboundMessage): Promise<object[]> {
    const name = /^\/([-_a-z0-9]{1,32})$/.exec(message.content)?.[1];
    const argument = this.#parts.commands.find((one) => one.name === name)?.argument;
    if (name === undefined || argument === undefined || NOT_WHOLE.includes(name)) return [];
    const known = argument.choices ?? (argument.suggests === true ? await this.#suggestions(message) : []);
    const options = [...new Set(known)].filter((one) => one !== '' && one.length <= MAX_OPTION);
    if (options.length < 2) return [];
    const shown = options.slice(0, MAX_SUGGESTIONS).map((one) => ({ label: one, value: one }));
    const select = { type: ComponentType.StringSelect, custom_id: `choose:${name}`, options: shown };
    return [{ type: ComponentType.ActionRow, components: [select] }];
  }

  /** Nothing if that fails or takes too long: the reply says what can be typed. */
  async #suggestions(message: InboundMessage): Promise<readonly string[]> {
    const late = Promise.withResolvers<readonly string[]>();
    const timer = setTimeout(late.resolve, SUGGEST_MS, []);
    const found = this.#parts.suggest({ ...message, content: `${message.content} ` }).catch(() => []);
    const first = await Promise.race([found, late.promise]);
    clearTimeout(timer);
    return first;
  }
}
