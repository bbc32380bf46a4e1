/** German descriptions of Discord's settings, by path. */

export const german: Readonly<Record<string, string>> = {
  editIntervalMs:
    'Millisekunden, die in einem Kanal oder Thread zwischen zwei Änderungen einer wachsenden Antwort mindestens vergehen',
  burst: 'erste Nachrichten und fertige Texte, die in einem Kanal oder Thread auf einmal hinausgehen dürfen',
  callsPer5Seconds:
    'höchste Zahl von Nachrichten und Änderungen in einem Kanal oder Thread in jeweils fünf Sekunden',
  reservedForFinals: 'wie viele von beidem nur fertige Texte benutzen dürfen',
  'callsPerSecond.start': 'Aufrufe des ganzen Bots in der Sekunde, zu Beginn',
  'callsPerSecond.most': 'worauf das steigen darf, solange Aufrufe warten und Discord keinen ablehnt',
  answerButtons:
    'ein Knopf zum Anhalten unter einer Antwort, die wächst, und einer zum Wiederholen unter einer fertigen',
  'reactions.private':
    'in einer Direktnachricht an einer Frage zeigen, dass sie wartet ⏳, bearbeitet wird 👀, beantwortet ist ✅ oder fehlgeschlagen ist ❌',
  'reactions.group': 'dasselbe in einem Kanal eines Servers',
  'threads.all': 'für jede Frage in einem Kanal eines Servers einen Thread öffnen',
  'threads.channels': 'dasselbe für einzelne Kanäle, mit ihren Ids; geht vor',
};
