/** German descriptions of Slack's settings, by path. */

export const german: Readonly<Record<string, string>> = {
  editIntervalMs:
    'Millisekunden, die in einem Kanal zwischen zwei Änderungen einer wachsenden Antwort mindestens vergehen',
  burst:
    'Nachrichten, die in einem Kanal auf einmal hinausgehen dürfen; Slack erlaubt dort etwa eine in der Sekunde',
  'reactions.private':
    'zeigt an einer Frage in einer Direktnachricht, dass sie wartet ⏳, bearbeitet wird 👀, beantwortet ist ✅ oder scheiterte ❌',
  'reactions.group': 'dasselbe in einem Kanal',
  'editsPerSecond.start': 'Änderungen im ganzen Workspace in der Sekunde, zu Beginn',
  'editsPerSecond.most': 'worauf das steigen darf, solange Änderungen warten und Slack keine ablehnt',
};
