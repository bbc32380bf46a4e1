/** The gateway's forms as Discord modals. Pure. */
import { ComponentType, TextInputStyle } from 'discord-api-types/v10';
import type { Form } from '../../../src/contracts/receive.ts';

/** Discord's limits: fields, characters of a title or label, of a description, and of a value. */
const MAX_FIELDS = 5;
const MAX_LABEL = 45;
const MAX_DESCRIPTION = 100;
const MAX_VALUE = 4_000;

/** The data of a modal (`InteractionResponseType.Modal`), within Discord's limits. */
export function modalOf({ title, value, fields }: Form): object {
  return {
    custom_id: value,
    title: cut(title, MAX_LABEL),
    components: fields.slice(0, MAX_FIELDS).map((field) => ({
      type: ComponentType.Label,
      label: cut(field.label, MAX_LABEL),
      ...(field.description !== undefined && { description: cut(field.description, MAX_DESCRIPTION) }),
      component: {
        type: ComponentType.TextInput,
        custom_id: field.name,
        style: field.lines === 'one' ? TextInputStyle.Short : TextInputStyle.Paragraph,
        max_length: Math.min(field.maxLength, MAX_VALUE),
        required: field.required,
        ...(field.value !== undefined && { value: cut(field.value, MAX_VALUE) }),
      },
    })),
  };
}

function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
