/** Tools as public servers have them, with schemas and results that not every client expects. */

type Json = Record<string, unknown>;

const text = (value: string, more: Json = {}): Json => ({
  content: [{ type: 'text', text: value }],
  ...more,
});

export const ODD_TOOLS = {
  structured_beside: {
    name: 'structured_beside',
    run: () => text('Retrieved 1 chat', { structuredContent: { chats: [{ id: 7, title: 'Trip' }] } }),
  },
  structured_twice: {
    name: 'structured_twice',
    run: () => text('{ "b": 2, "a": [1] }', { structuredContent: { a: [1], b: 2 } }),
  },
  /** A value of any kind, as schemars writes it; a pattern and a format. */
  rust: {
    name: 'rust',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { value: true, key: { type: 'string', pattern: '^[a-z](?=x)', format: 'slug' } },
      required: ['value'],
    },
    run: () => text('stored'),
  },
  untyped: { name: 'untyped', inputSchema: { properties: {} }, run: () => text('fine') },
  no_schema: { name: 'no_schema', inputSchema: { type: 'string' } },
};
