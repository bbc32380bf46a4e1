/** Two hundred facts about a person, and a question for each of them that shares no significant word with it. */

/** Topics: the words of facts, and the words of questions with the same meaning. */
const TOPICS: readonly (readonly [fact: string, question: string])[] = [
  ['employed', 'job'],
  ['married', 'wedding'],
  ['allergic', 'intolerance'],
  ['automobile', 'car'],
  ['residence', 'home'],
  ['physician', 'doctor'],
  ['feline', 'cat'],
  ['canine', 'dog'],
  ['instrument', 'music'],
  ['vacation', 'holiday'],
];
const SUBJECTS: readonly (readonly [fact: string, question: string])[] = [
  ['spouse', 'wife'],
  ['offspring', 'children'],
  ['sibling', 'sister'],
  ['colleague', 'coworker'],
  ['neighbour', 'nextdoor'],
  ['parent', 'mother'],
  ['grandparent', 'grandma'],
  ['companion', 'friend'],
  ['supervisor', 'boss'],
  ['pupil', 'student'],
  ['landlord', 'owner'],
  ['trainer', 'coach'],
  ['cousin', 'relative'],
  ['lodger', 'tenant'],
  ['dentist', 'teeth'],
  ['barber', 'hairdresser'],
  ['lawyer', 'attorney'],
  ['vendor', 'seller'],
  ['editor', 'publisher'],
  ['pilot', 'aviator'],
];

/** The classes of synonyms that an embedding model would know. */
export const SYNONYMS: readonly (readonly string[])[] = [...TOPICS, ...SUBJECTS];

/** Fact and question, one per pair of a topic and a subject. */
export const TWO_HUNDRED: readonly { fact: string; question: string }[] = TOPICS.flatMap(
  ([topic, asked], at) =>
    SUBJECTS.map(([subject, called], n) => ({
      fact: `The ${subject} concerns the ${topic}, since ${1_900 + at * 10 + n}`,
      question: `what do you know: my ${called} and the ${asked}?`,
    })),
);
