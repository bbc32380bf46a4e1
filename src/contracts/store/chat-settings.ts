/** What is kept of single chats and people: settings that they made, and what channels have learned of them. */

/** The rows behind it, by the address of the chat, for some of them with its topic, or by the user id of the person. Throws only `StoreError`. */
export interface ChatSettingStore {
  /** Undefined where nothing is kept, and once it is over. */
  chatSetting(chat: string, name: string): Promise<string | undefined>;
  /** Undefined takes it away; with `forMs` it is over after so many milliseconds. */
  setChatSetting(chat: string, name: string, value: string | undefined, forMs?: number): Promise<void>;
}
