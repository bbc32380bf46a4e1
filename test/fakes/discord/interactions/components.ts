/** Buttons under messages, with Discord's limits. */
import { invalidForm } from '../form.ts';
import type { Refusal } from '../platform.ts';

/** One button: its label and style, and the id it sends. */
export interface FakeButton {
  label: string;
  customId: string;
  style: number;
}

/** A menu: the id it sends, and the values that can be chosen. */
export interface FakeSelect {
  customId: string;
  values: string[];
}

const ACTION_ROW = 1;
const BUTTON = 2;
const SELECT = 3;
const MAX_OPTIONS = 25;
const MAX_ROWS = 5;
const MAX_IN_ROW = 5;
const MAX_LABEL = 80;
const MAX_CUSTOM_ID = 100;

function invalid(code: string, message: string): Refusal {
  return invalidForm('components', code, message);
}

/** The buttons of a body; undefined if it has no components, which leaves those of an edited message. */
export function componentsOf(body: Record<string, unknown>): FakeButton[] | undefined {
  const { components } = body;
  if (components === undefined || components === null) return undefined;
  if (!Array.isArray(components) || components.length > MAX_ROWS)
    throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 0 and ${MAX_ROWS} in length.`);
  const buttons = components.flatMap((row: unknown) => {
    const { type, components: inside } = fieldsOf(row);
    if (type !== ACTION_ROW)
      throw invalid('UNION_TYPE_CHOICES', 'Value of field "type" must be one of (1,).');
    if (!Array.isArray(inside) || inside.length === 0 || inside.length > MAX_IN_ROW)
      throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_IN_ROW} in length.`);
    // A menu fills a row.
    if (inside.length === 1 && fieldsOf(inside[0]).type === SELECT) return [];
    return inside.map(toButton);
  });
  if (new Set(buttons.map(({ customId }) => customId)).size < buttons.length)
    throw invalid('COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated');
  return buttons;
}

/** The menu of a body; undefined if it has none. */
export function selectOf({ components }: Record<string, unknown>): FakeSelect | undefined {
  const rows: unknown[] = Array.isArray(components) ? components : [];
  const inside = rows.flatMap((row) => {
    const list = fieldsOf(row).components;
    return Array.isArray(list) ? list : [];
  });
  const found: unknown = inside.find((one: unknown) => fieldsOf(one).type === SELECT);
  if (found === undefined) return undefined;
  const { custom_id: customId, options } = fieldsOf(found);
  const list: unknown[] = Array.isArray(options) ? options : [];
  if (list.length < 1 || list.length > MAX_OPTIONS)
    throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_OPTIONS} in length.`);
  const values = list.map((one) => {
    const { label, value } = fieldsOf(one);
    for (const text of [label, value])
      if (typeof text !== 'string' || text === '' || text.length > MAX_CUSTOM_ID)
        throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_CUSTOM_ID} in length.`);
    return String(value);
  });
  if (new Set(values).size < values.length)
    throw invalid('SELECT_COMPONENT_OPTION_VALUE_DUPLICATED', 'The specified option value is already used');
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID)
    throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_CUSTOM_ID} in length.`);
  return { customId, values };
}

function toButton(component: unknown): FakeButton {
  const { type, style, label, custom_id: customId } = fieldsOf(component);
  if (type !== BUTTON) throw invalid('UNION_TYPE_CHOICES', 'Value of field "type" must be one of (2,).');
  if (typeof style !== 'number' || ![1, 2, 3, 4].includes(style))
    throw invalid('BASE_TYPE_CHOICES', 'Value must be one of (1, 2, 3, 4).');
  if (typeof label !== 'string' || label === '' || label.length > MAX_LABEL)
    throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_LABEL} in length.`);
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID)
    throw invalid('BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_CUSTOM_ID} in length.`);
  return { label, customId, style };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
