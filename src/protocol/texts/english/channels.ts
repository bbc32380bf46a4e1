/** What channels say by themselves, and what their menus show. */

export const channels = {
  'about.ask': 'Ask something; the answer appears right here',
  'argument.ask_prompt': 'What you want to know or have done',
  'argument.ask_file': 'A picture, document or recording to go with it',
  'menu.ask': 'ask',
  'menu.ask_about': 'Ask about this',
  'menu.summarise': 'Summarize from here',
  'menu.your_question': 'Your question',
  'summary.prompt':
    'Summarize this conversation from the quoted messages on: who said what, and what was decided.',
  'summary.more': 'More was said after these {messages} messages.',
  'summary.cut': 'Its middle is left out, because it is too long.',
  'press.done': 'Done.',
  'press.not_answered': 'This bot does not answer you here.',
  'press.unknown_command': 'This command is unknown. Nothing was changed.',
  'press.too_late': 'It took too long to show you the form. Please press the button again.',
  'press.not_stored': 'Your message could not be stored just now. Please send it again in a moment.',
  'read.gone': 'I can no longer read that message. Please use the command on it again.',
  'read.forbidden':
    'I am not allowed to read the messages in this channel: I need the permissions View Channel and Read Message History.',
  'read.not_given': '{network} did not give me the messages in this channel. Please try again in a moment.',
  'write.forbidden':
    'I am not allowed to write where you asked me (channel {channel}). Someone who runs that server has to give me the Send Messages permission; the answer is kept for an hour.',
  'privacy.on': {
    one: '{network}: privacy mode is on, but the settings of a group ask for all messages. Turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the group and add it again.',
    other:
      '{network}: privacy mode is on, but the settings of {count} groups ask for all messages. Turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the groups and add it again.',
  },
  'typing.status': 'is typing…',
  'form.send': 'Send',
  'form.close': 'Cancel',
  'thread.unnamed': 'Question',
  'room.encrypted':
    'This room is encrypted, and I cannot read encrypted messages. Please write to me in a room without encryption: leave it off when you create the room, because it cannot be turned off later.',
} as const;
