/** A todo list and a scratchpad in memory, as strict as the real ones. */
import {
  MAX_NOTES,
  type Note,
  type ScratchpadStore,
  type Todo,
  type TodoStore,
} from '../../src/protocol/store/notes.ts';

export function memoryTodos(): TodoStore {
  const lists = new Map<string, Todo[]>();
  return {
    todos: async (session) => structuredClone(lists.get(session) ?? []),
    setTodos: async (session, items) => void lists.set(session, structuredClone([...items])),
    async changeTodo(session, index, change) {
      const items = lists.get(session) ?? [];
      const item = items[index];
      if (item === undefined) return undefined;
      items[index] = { ...item, ...change };
      return structuredClone(items);
    },
  };
}

export function memoryScratchpad(): ScratchpadStore {
  const pads = new Map<string, Map<string, Note>>();
  return {
    notes: async (session) =>
      new Map([...(pads.get(session) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    async setNote(session, name, note) {
      const pad = pads.get(session) ?? new Map<string, Note>();
      pads.set(session, pad);
      if (note === undefined) return pad.delete(name) || true;
      if (!pad.has(name) && pad.size >= MAX_NOTES) return false;
      pad.set(name, note);
      return true;
    },
  };
}
