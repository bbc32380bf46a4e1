/** Requests in the form that clients send which cannot be run here: openai's Python package, Open WebUI. */
import { describe, expect, it } from 'vitest';
import { describeGateway } from '../setup.ts';

describeGateway('requests of other clients', {}, (fixture) => {
  const post = async (path: string, json: unknown, headers: Record<string, string> = {}) => {
    const answer = await fixture().call(path, { json, headers });
    return { status: answer.status, body: await answer.json() };
  };
  const PYTHON = {
    'user-agent': 'OpenAI/Python 2.9.0',
    'x-stainless-lang': 'python',
    'x-stainless-retry-count': '0',
    'x-stainless-raw-response': 'true',
  };
  const says = (content: string) => [{ role: 'user', content }];

  describe('by openai’s Python package', () => {
    it('call tools and send the assistant’s message back unchanged, with its nulls', async () => {
      const parameters = {
        properties: { at: { title: 'At', type: 'string' } },
        required: ['at'],
        type: 'object',
      };
      const tools = [
        {
          type: 'function',
          function: {
            name: 'look',
            strict: true,
            parameters: { ...parameters, additionalProperties: false },
          },
        },
      ];
      fixture().ollama.answer({ toolCalls: [{ name: 'look', args: { at: 'home' }, id: 'call_py' }] });
      const first = await post(
        '/v1/chat/completions',
        { messages: says('look'), model: 'default', tools },
        PYTHON,
      );
      const [choice] = first.body.choices;
      expect(choice.finish_reason).toBe('tool_calls');
      // model_dump() of the message: every field the client knows.
      const message = { ...choice.message, annotations: null, audio: null, function_call: null };
      const result = { role: 'tool', tool_call_id: 'call_py', content: 'a cat' };
      fixture().ollama.answer('A cat.');
      const messages = [...says('look'), message, result];
      const second = await post('/v1/chat/completions', { messages, model: 'default', tools }, PYTHON);
      expect(second.body.choices[0].message.content).toBe('A cat.');
    });

    it('parse into a Pydantic model, through definitions and references', async () => {
      const schema = {
        $defs: {
          Step: {
            properties: { text: { title: 'Text', type: 'string' } },
            required: ['text'],
            title: 'Step',
            type: 'object',
            additionalProperties: false,
          },
        },
        properties: { steps: { items: { $ref: '#/$defs/Step' }, title: 'Steps', type: 'array' } },
        required: ['steps'],
        title: 'Plan',
        type: 'object',
        additionalProperties: false,
      };
      const response_format = { type: 'json_schema', json_schema: { schema, name: 'Plan', strict: true } };
      const ask = { messages: says('plan'), model: 'default', response_format, stream: false };
      fixture().ollama.answer('{"steps": [{"text": "one"}]}');
      expect((await post('/v1/chat/completions', ask, PYTHON)).status).toBe(200);
      fixture().ollama.answer('{"steps": [{"text": 1}]}');
      fixture().ollama.answer('{"steps": [{"text": 1}]}');
      expect(await post('/v1/chat/completions', ask, PYTHON)).toMatchObject({
        status: 502,
        body: { error: { code: 'invalid_answer', message: expect.stringContaining('/steps/0/text') } },
      });
    });

    it('ask for vectors in base64', async () => {
      const asked = { input: ['one'], model: 'fake', encoding_format: 'base64' };
      const { body } = await post('/v1/embeddings', asked, PYTHON);
      expect(Buffer.from(body.data[0].embedding, 'base64').readFloatLE(0)).toBe(3);
    });

    it('create responses', async () => {
      fixture().ollama.answer('Hello.');
      const asked = { input: 'hi', model: 'default', instructions: 'Be kind.', max_output_tokens: 20 };
      const { body } = await post('/v1/responses', asked, PYTHON);
      expect(body).toMatchObject({
        status: 'completed',
        output: [{ type: 'message', content: [{ text: 'Hello.' }] }],
      });
    });
  });

  it('by Open WebUI: a title in a whole answer, along with its own ids', async () => {
    fixture().ollama.answer('{"title": "Cats"}');
    const asked = {
      model: 'default',
      messages: says('### Task: make a title'),
      stream: false,
      max_completion_tokens: 1_000,
      metadata: { task: 'title_generation', chat_id: 'c' },
      chat_id: 'c',
      session_id: 's',
    };
    expect((await post('/v1/chat/completions', asked)).body.choices[0].message.content).toBe(
      '{"title": "Cats"}',
    );
  });

  it('by clients of other servers: a field that this API does not have is refused by name', async () => {
    for (const field of ['guided_json', 'best_of', 'tool_stream']) {
      const answer = await post('/v1/chat/completions', { messages: says('x'), [field]: 1 });
      expect(answer).toMatchObject({ status: 400, body: { error: { param: field, code: 'unknown_field' } } });
    }
  });
});
