/** What HTTP clients send: late system messages, results in any order, histories that begin anywhere. */

const user = (content: string) => ({ role: 'user', content });
const system = (content: string) => ({ role: 'system', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
const calls = (...list: object[]) => ({ role: 'assistant', content: null, tool_calls: list });
const call = (id: string, city: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
});

const weather = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const tools = [{ type: 'function', function: weather }];
const question = user('How is the weather in Rome and Oslo?');
const both = calls(call('call_rome_1234567890', 'Rome'), call('call_oslo_1234567890', 'Oslo'));
const rome = result('call_rome_1234567890', 'sun');
const oslo = result('call_oslo_1234567890', 'snow');

/** Bodies of `POST /v1/chat/completions`, by what is special about them. */
export const COMPLETIONS: Readonly<Record<string, Record<string, unknown>>> = {
  'a plain question': { messages: [user('hi')] },
  'only a system message': { messages: [system('Write a line.')] },
  'two system messages first': { messages: [system('Be brief.'), system('Be kind.'), user('hi')] },
  'a late system message': {
    messages: [system('Be brief.'), user('hi'), assistant('Hello.'), system('Be kind.'), user('go on')],
  },
  'a system message at the end': { messages: [user('hi'), system('Answer in French.')] },
  'a history that begins with an answer': { messages: [assistant('Welcome!'), user('hi')] },
  'questions without answers': {
    messages: [user('one'), user('two'), assistant('A.'), assistant('B.'), user('three')],
  },
  'an empty answer': { messages: [user('one'), assistant(''), user('two')] },
  'results in order': { messages: [question, both, rome, oslo], tools },
  'results out of order': { messages: [question, both, oslo, rome], tools },
  'a missing result': { messages: [question, both, oslo, user('forget it')], tools },
  'the user behind a result': { messages: [question, both, rome, oslo, user('and tomorrow?')], tools },
  'the same id twice': {
    messages: [
      question,
      calls(call('1', 'Rome')),
      result('1', 'sun'),
      calls(call('1', 'Oslo')),
      result('1', 'snow'),
    ],
    tools,
  },
  'text beside its call': {
    messages: [
      question,
      { ...both, content: 'Let me see.' },
      rome,
      oslo,
      assistant('Sun and snow.'),
      user('thanks'),
    ],
    tools,
  },
};

/** A body of `POST /v1/responses`. */
export const RESPONSES: Record<string, unknown> = {
  instructions: 'Be kind.',
  input: [
    { role: 'user', content: 'Rome?' },
    { type: 'function_call', call_id: 'fc_1', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call_output', call_id: 'fc_1', output: 'sun' },
    { role: 'developer', content: 'Be brief.' },
  ],
};

/** Completions in which a tool must be called. */
export const FORCED_CALLS: Readonly<Record<string, Record<string, unknown>>> = {
  'a forced call': { messages: [question], tools, tool_choice: 'required' },
  'a forced call after a result': {
    messages: [question, both, rome, oslo],
    tools,
    tool_choice: 'required',
  },
};
