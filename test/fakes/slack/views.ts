/** Modals of the fake Slack, as strict as Slack ("Modals", "Input block"). */
import { z } from 'zod';
import type { FakeSlack } from './slack.ts';
import { type FakePerson, Refusal } from './workspace.ts';

const text = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most) });

const input = z
  .strictObject({
    type: z.literal('input'),
    block_id: z.string().min(1).max(255),
    optional: z.boolean(),
    label: text(2_000),
    hint: text(2_000).optional(),
    element: z.strictObject({
      type: z.literal('plain_text_input'),
      action_id: z.string().min(1).max(255),
      multiline: z.boolean(),
      max_length: z.int().min(1).max(3_000),
      initial_value: z.string().max(3_000).optional(),
    }),
  })
  .refine(({ element: { initial_value: given = '', max_length: most } }) => given.length <= most);

const view = z.strictObject({
  type: z.literal('modal'),
  callback_id: z.string().min(1).max(255),
  private_metadata: z.string().max(3_000),
  title: text(24),
  submit: text(24),
  close: text(24),
  blocks: z.array(input).min(1).max(100),
});
/** A modal with its id, and the problems at its blocks after a submission that was refused. */
export type FakeView = z.infer<typeof view> & { id: string; errors?: Readonly<Record<string, string>> };

/** What keeps a submitted modal open ("Displaying errors in views"; `ViewErrorsResponseAction` of bolt-js). */
const refusal = z.strictObject({
  response_action: z.literal('errors'),
  errors: z.record(z.string(), z.string().min(1)),
});

/** Modals by the person who sees them, and the presses that may open one. */
export class Views {
  /** The modal that is open for somebody. */
  readonly open = new Map<string, FakeView>();
  /** Modals that were submitted and not answered yet, by envelope: with what was entered. */
  readonly submitted = new Map<string, { person: string; view: FakeView }>();
  /** People by their trigger, which opens one modal within three seconds. */
  readonly #triggers = new Map<string, { person: string; at: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Somebody has pressed. */
  triggered(trigger: string, person: string): void {
    this.#triggers.set(trigger, { person, at: this.#now() });
  }

  /** `views.open`. Throws `Refusal`. */
  show({ trigger_id: id, view: given }: Record<string, unknown>): object {
    const trigger = this.#triggers.get(String(id));
    if (trigger === undefined) throw new Refusal('invalid_trigger_id');
    this.#triggers.delete(String(id));
    if (this.#now() - trigger.at > 3_000) throw new Refusal('expired_trigger_id');
    const { data } = view.safeParse(given);
    if (data === undefined) throw new Refusal('invalid_arguments');
    this.open.set(trigger.person, { ...data, id: `V${String(id)}` });
    return { view: { id: `V${String(id)}` } };
  }

  /** The app has acknowledged an envelope: a submission is done, or its modal opens again with errors. Throws for other answers. */
  answered(envelope: string, payload: object | undefined): void {
    const submission = this.submitted.get(envelope);
    if (submission === undefined) return;
    this.submitted.delete(envelope);
    if (payload === undefined) return;
    const { errors } = refusal.parse(payload);
    const blocks = submission.view.blocks.map(({ block_id: name }) => name);
    const foreign = Object.keys(errors).filter((name) => !blocks.includes(name));
    if (foreign.length > 0) throw new Error(`the modal has no block ${foreign.join()}`);
    this.open.set(submission.person, { ...submission.view, errors });
  }
}

/** Somebody fills in the modal that is open for them and sends it; gives the envelope's id. Throws when none is open. */
export function submits(
  { views, socketMode }: Pick<FakeSlack, 'views' | 'socketMode'>,
  person: FakePerson,
  texts: Readonly<Record<string, string>>,
): string {
  const shown = views.open.get(person.id);
  if (shown === undefined) throw new Error(`no form is open for ${person.name}`);
  views.open.delete(person.id);
  const values = shown.blocks.map(({ block_id: name, element }) => {
    const value = texts[name] ?? element.initial_value ?? '';
    if (value.length > element.max_length)
      throw new Error(`"${name}" takes ${element.max_length} characters`);
    return [name, { [element.action_id]: { type: element.type, value: value === '' ? null : value } }];
  });
  const { callback_id, private_metadata, id } = shown;
  const envelope = socketMode.deliver('interactive', {
    type: 'view_submission',
    user: { id: person.id, name: person.name },
    view: { id, callback_id, private_metadata, state: { values: Object.fromEntries(values) } },
  });
  const blocks = shown.blocks.map((block) => ({
    ...block,
    element: { ...block.element, initial_value: texts[block.block_id] ?? block.element.initial_value },
  }));
  views.submitted.set(envelope, { person: person.id, view: { ...shown, blocks } });
  return envelope;
}
