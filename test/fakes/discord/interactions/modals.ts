/** Forms and suggestions in the fake Discord, with its limits. */
import { invalidForm } from '../form.ts';

export interface FakeModal {
  customId: string;
  title: string;
  fields: { name: string; label: string; value: string; maxLength: number; required: boolean }[];
  /** Its file upload ("File Upload"), if it has one. */
  files?: { name: string; label: string; most: number };
}

const LABEL = 18;
const TEXT_INPUT = 4;
const FILE_UPLOAD = 19;

/** The form in the data of an answer. */
export function modalIn(data: Record<string, unknown>): FakeModal {
  const { custom_id: customId, title, components } = data;
  const sized = sizedIn(1, 100);
  const list: unknown[] = Array.isArray(components) ? components : [];
  if (list.length < 1 || list.length > 5)
    throw invalidForm('components', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.');
  const isUpload = (one: unknown): boolean => fieldsOf(fieldsOf(one).component).type === FILE_UPLOAD;
  const upload = list.find(isUpload);
  return {
    customId: sized('custom_id', customId),
    title: sizedIn(1, 45)('title', title),
    ...(upload !== undefined && { files: uploadIn(upload) }),
    fields: list
      .filter((one) => !isUpload(one))
      .map((one) => {
        const { type, label, description, component } = fieldsOf(one);
        const input = fieldsOf(component);
        if (type !== LABEL || input.type !== TEXT_INPUT || ![1, 2].includes(Number(input.style)))
          throw invalidForm(
            'components',
            'UNION_TYPE_CHOICES',
            'Value of field "type" must be one of (18,).',
          );
        if (description !== undefined) sizedIn(0, 100)('description', description);
        const value = input.value === undefined ? '' : sizedIn(0, 4_000)('value', input.value);
        const maxLength = Number(input.max_length);
        if (!(maxLength >= 1 && maxLength <= 4_000) || value.length > maxLength)
          throw invalidForm(
            'max_length',
            'NUMBER_TYPE_MAX',
            'int value should be less than or equal to 4000.',
          );
        const name = sized('custom_id', input.custom_id);
        return {
          name,
          label: sizedIn(1, 45)('label', label),
          value,
          maxLength,
          required: input.required !== false,
        };
      }),
  };
}

function uploadIn(label: unknown): { name: string; label: string; most: number } {
  const { type, label: text, component } = fieldsOf(label);
  const { custom_id: name, max_values: most = 1, min_values: least = 1, required } = fieldsOf(component);
  if (type !== LABEL || !(Number(most) >= 1 && Number(most) <= 10))
    throw invalidForm('max_values', 'NUMBER_TYPE_MAX', 'int value should be less than or equal to 10.');
  if (required !== false && !(Number(least) >= 1))
    throw invalidForm('min_values', 'NUMBER_TYPE_MIN', 'Must be 1.');
  return {
    name: sizedIn(1, 100)('custom_id', name),
    label: sizedIn(1, 45)('label', text),
    most: Number(most),
  };
}

/** The suggestions in the data of an answer. */
export function choicesIn(data: Record<string, unknown>): string[] {
  const { choices } = data;
  if (!Array.isArray(choices) || choices.length > 25)
    throw invalidForm('choices', 'BASE_TYPE_BAD_LENGTH', 'Must be 25 or fewer in length.');
  return choices.map((one: unknown) => {
    const { name, value } = fieldsOf(one);
    sizedIn(1, 100)('value', value);
    return sizedIn(1, 100)('name', name);
  });
}

function sizedIn(least: number, most: number) {
  return (field: string, value: unknown): string => {
    if (typeof value === 'string' && value.length >= least && value.length <= most) return value;
    throw invalidForm(field, 'BASE_TYPE_BAD_LENGTH', `Must be between ${least} and ${most} in length.`);
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
