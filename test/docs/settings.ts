/** Folds a zod schema into the settings that a reader can set, by dotted name. */
import { z } from 'zod';

export interface Setting {
  /** `access.telegram.dm`; `<name>` stands for a key that the reader chooses. */
  name: string;
  /** JSON of the default; '' = none. */
  fallback: string;
  /** As the schema describes it; '' = it does not. */
  description: string;
}

const values = z.record(z.string(), z.unknown());
const node = z.looseObject({
  properties: values.optional(),
  additionalProperties: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
});
type Node = z.infer<typeof node>;

/** Every setting of a schema, in the order of its fields. Throws when the schema does not accept an empty object. */
export function settingsOf(schema: z.ZodObject): Setting[] {
  const root = node.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  return fieldsOf(root, '', schema.parse({}));
}

function fieldsOf(parent: Node, prefix: string, defaults: unknown): Setting[] {
  const given = values.safeParse(defaults).data ?? {};
  return Object.entries(propertiesOf(parent)).flatMap(([key, child]) =>
    settingAt(node.parse(child), prefix === '' ? key : `${prefix}.${key}`, given[key]),
  );
}

function settingAt(here: Node, name: string, value: unknown): Setting[] {
  const fallback = value ?? here.default;
  if (Object.keys(propertiesOf(here)).length > 0) return fieldsOf(here, name, fallback);
  const own: Setting = {
    name,
    fallback: JSON.stringify(fallback) ?? '',
    description: here.description ?? '',
  };
  const entry = node.safeParse(here.additionalProperties);
  if (!entry.success || Object.keys(propertiesOf(entry.data)).length === 0) return [own];
  return [own, ...fieldsOf(entry.data, `${name}.<name>`, undefined)];
}

/** The fields of an object, or of all the objects that it may be. */
function propertiesOf({ properties, anyOf = [], oneOf = [] }: Node): Record<string, unknown> {
  const shapes = [...anyOf, ...oneOf].map((shape) => propertiesOf(node.parse(shape)));
  return Object.assign({}, ...shapes, properties);
}
