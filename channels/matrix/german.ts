/** German descriptions of Matrix's settings, by path. */

export const german: Readonly<Record<string, string>> = {
  editIntervalMs:
    'Millisekunden, die in einem Raum zwischen zwei Änderungen einer wachsenden Antwort mindestens vergehen',
  burst: 'Ereignisse, die in einem Raum auf einmal hinausgehen dürfen',
  accountBurst:
    'Ereignisse, die in allen Räumen zusammen auf einmal hinausgehen dürfen: `burst_count` in `rc_message` von Synapse',
  'reactions.private':
    'zeigt an einer Frage in einem Direktchat, dass sie wartet ⏳, bearbeitet wird 👀, beantwortet ist ✅ oder scheiterte ❌',
  'reactions.group':
    'dasselbe in einem Raum mehrerer Leute; jeder Wechsel sind zwei Ereignisse, denen Texte vorgehen',
  'eventsPerSecond.start': 'Ereignisse des ganzen Kontos in der Sekunde, zu Beginn',
  'eventsPerSecond.most':
    'worauf das steigen darf, solange Ereignisse warten und der Homeserver keins ablehnt',
};
