/**
 * Two hundred manuals in five languages, with questions whose answers are known: made by rules, so that each is the same on
 * every machine. Each manual has eight sections; the names of the machines are close to each other, the questions use other
 * forms of words than the text, and every fifth has a slip of the finger in the name.
 */

/** A question, and where its answer is. */
export interface ManualQuestion {
  language: string;
  text: string;
  /** Of the manual that has the answer. */
  document: string;
  /** What the right passage contains. */
  answer: string;
}

interface Language {
  code: string;
  /** The first line of each manual. */
  title: (name: string) => string;
  intro: string;
  /** Heading, sentence with the value, question, unit, least and largest value. */
  facts: readonly [heading: string, sentence: string, question: string, least: number, most: number][];
  /** Sentences that are in every manual. */
  usual: readonly string[];
}

const LANGUAGES: readonly Language[] = [
  {
    code: 'en',
    title: (name) => `Operating manual ${name}`,
    intro: 'Read this manual before you use the machine, and keep it for later.',
    facts: [
      [
        'Warranty',
        'The maker guarantees all parts for {v} months after purchase.',
        'How many months of guarantee are there on the parts of the {n}?',
        12,
        96,
      ],
      [
        'Maintenance',
        'Have the filter cleaned after every {v} hours of operation.',
        'After how many operating hours must filters of the {n} be cleaned?',
        40,
        900,
      ],
      [
        'Noise',
        'At full power the noise level reaches {v} decibels.',
        'How loud is the {n} at its full power?',
        30,
        99,
      ],
      [
        'Weight',
        'Without accessories it weighs {v} kilograms.',
        'What is the weight of the {n} without any accessory?',
        10,
        480,
      ],
      [
        'Spare parts',
        'Sealing rings are ordered under the number SR-{v}.',
        'Under which number do I order a sealing ring for the {n}?',
        1000,
        9999,
      ],
      ['Energy', 'In standby it draws {v} watts.', 'How much power does the {n} draw on standby?', 101, 399],
      [
        'Transport',
        'During transport it must not be tilted by more than {v} degrees.',
        'How far may I tilt the {n} when transporting it?',
        11,
        44,
      ],
      [
        'Errors',
        'When the lamp flashes red, error {v} asks for more coolant.',
        'Which error of the {n} means that coolant is missing?',
        500,
        899,
      ],
    ],
    usual: [
      'Only trained people may open the cover.',
      'Switch it off and pull the plug before any work on it.',
      'Keep children and animals away from moving parts.',
      'If you have questions, ask the dealer who sold it to you.',
      'Dispose of packaging and old parts as your town prescribes.',
    ],
  },
  {
    code: 'de',
    title: (name) => `Betriebsanleitung ${name}`,
    intro: 'Lesen Sie diese Anleitung vor dem ersten Gebrauch, und heben Sie sie auf.',
    facts: [
      [
        'Garantie',
        'Die Garantiezeit für alle Teile beträgt {v} Monate ab Kauf.',
        'Wie viele Monate Garantie gibt es auf Teile der {n}?',
        12,
        96,
      ],
      [
        'Wartung',
        'Der Filter ist nach jeweils {v} Betriebsstunden zu reinigen.',
        'Nach wie vielen Stunden muss man die Filter der {n} reinigen?',
        40,
        900,
      ],
      [
        'Geräusch',
        'Der Schallpegel erreicht bei voller Leistung {v} Dezibel.',
        'Wie laut ist die {n} bei voller Leistung in Dezibel?',
        30,
        99,
      ],
      [
        'Gewicht',
        'Das Gewicht ohne Zubehör liegt bei {v} Kilogramm.',
        'Was wiegt die {n} ohne Zubehörteile, welches Gewicht?',
        10,
        480,
      ],
      [
        'Ersatzteile',
        'Dichtungsringe bestellen Sie unter der Nummer SR-{v}.',
        'Unter welcher Bestellnummer bekomme ich einen Dichtungsring der {n}?',
        1000,
        9999,
      ],
      [
        'Energie',
        'Im Bereitschaftsbetrieb nimmt sie {v} Watt auf.',
        'Wie viel Watt braucht die {n} in Bereitschaft?',
        101,
        399,
      ],
      [
        'Transport',
        'Beim Transport darf sie höchstens um {v} Grad geneigt werden.',
        'Wie weit darf ich die {n} beim Transportieren neigen?',
        11,
        44,
      ],
      [
        'Fehler',
        'Blinkt die Lampe rot, meldet der Fehler {v} zu wenig Kühlmittel.',
        'Welche Fehlermeldung der {n} bedeutet, dass Kühlmittel fehlt?',
        500,
        899,
      ],
    ],
    usual: [
      'Nur geschulte Personen dürfen die Abdeckung öffnen.',
      'Schalten Sie die Maschine vor allen Arbeiten aus, und ziehen Sie den Stecker.',
      'Halten Sie Kinder und Tiere von bewegten Teilen fern.',
      'Wenden Sie sich bei Fragen an den Händler, bei dem Sie gekauft haben.',
      'Entsorgen Sie Verpackung und Altteile nach den Regeln Ihrer Gemeinde.',
    ],
  },
  {
    code: 'fr',
    title: (name) => `Mode d'emploi ${name}`,
    intro: "Lisez ce mode d'emploi avant d'utiliser la machine et conservez-le.",
    facts: [
      [
        'Garantie',
        'Le fabricant garantit toutes les pièces pendant {v} mois.',
        'Combien de mois les pièces de la {n} sont-elles garanties ?',
        12,
        96,
      ],
      [
        'Entretien',
        'Nettoyez le filtre toutes les {v} heures de service.',
        'Toutes les combien d’heures faut-il nettoyer les filtres de la {n} ?',
        40,
        900,
      ],
      [
        'Bruit',
        'À pleine puissance, le niveau sonore atteint {v} décibels.',
        'Quel est le niveau sonore de la {n} à pleine puissance ?',
        30,
        99,
      ],
      [
        'Poids',
        'Sans accessoires, elle pèse {v} kilogrammes.',
        'Combien de kilogrammes pèse la {n} sans accessoire ?',
        10,
        480,
      ],
      [
        'Pièces',
        'Les joints se commandent sous le numéro SR-{v}.',
        'Sous quel numéro commander un joint pour la {n} ?',
        1000,
        9999,
      ],
      [
        'Énergie',
        'En veille, elle consomme {v} watts.',
        'Quelle est la consommation de la {n} en veille ?',
        101,
        399,
      ],
      [
        'Transport',
        'Pendant le transport, ne l’inclinez pas de plus de {v} degrés.',
        'De combien de degrés peut-on incliner la {n} au transport ?',
        11,
        44,
      ],
      [
        'Erreurs',
        'Si la lampe clignote en rouge, l’erreur {v} signale un manque de liquide.',
        'Quelle erreur de la {n} signale qu’il manque du liquide ?',
        500,
        899,
      ],
    ],
    usual: [
      'Seules des personnes formées peuvent ouvrir le capot.',
      'Éteignez la machine et débranchez-la avant toute intervention.',
      'Tenez les enfants et les animaux à distance des pièces mobiles.',
      'En cas de question, adressez-vous au revendeur.',
      'Éliminez les emballages selon les règles de votre commune.',
    ],
  },
  {
    code: 'es',
    title: (name) => `Manual de uso ${name}`,
    intro: 'Lea este manual antes de usar la máquina y guárdelo.',
    facts: [
      [
        'Garantía',
        'El fabricante garantiza todas las piezas durante {v} meses.',
        '¿Cuántos meses de garantía tienen las piezas de la {n}?',
        12,
        96,
      ],
      [
        'Mantenimiento',
        'Limpie el filtro cada {v} horas de trabajo.',
        '¿Cada cuántas horas hay que limpiar los filtros de la {n}?',
        40,
        900,
      ],
      [
        'Ruido',
        'A plena potencia el nivel de ruido llega a {v} decibelios.',
        '¿Qué nivel de ruido tiene la {n} a plena potencia?',
        30,
        99,
      ],
      [
        'Peso',
        'Sin accesorios pesa {v} kilogramos.',
        '¿Cuántos kilogramos pesa la {n} sin accesorio?',
        10,
        480,
      ],
      [
        'Repuestos',
        'Las juntas se piden con el número SR-{v}.',
        '¿Con qué número pido una junta para la {n}?',
        1000,
        9999,
      ],
      ['Energía', 'En espera consume {v} vatios.', '¿Cuánto consume la {n} en modo de espera?', 101, 399],
      [
        'Transporte',
        'Durante el transporte no la incline más de {v} grados.',
        '¿Cuántos grados se puede inclinar la {n} al transportarla?',
        11,
        44,
      ],
      [
        'Errores',
        'Si la lámpara parpadea en rojo, el error {v} indica falta de refrigerante.',
        '¿Qué error de la {n} indica que falta refrigerante?',
        500,
        899,
      ],
    ],
    usual: [
      'Solo personas formadas pueden abrir la tapa.',
      'Apague la máquina y desenchúfela antes de cualquier trabajo.',
      'Mantenga a niños y animales lejos de las piezas móviles.',
      'Si tiene preguntas, consulte al vendedor.',
      'Deseche los embalajes según las normas de su municipio.',
    ],
  },
  {
    code: 'zh',
    title: (name) => `${name} 使用说明书`,
    intro: '使用机器前请阅读本说明书，并妥善保管。',
    facts: [
      ['保修', '所有零件自购买之日起保修{v}个月。', '{n} 的零件保修多少个月？', 12, 96],
      ['保养', '每运行{v}小时须清洗一次过滤器。', '{n} 每运行多少小时要清洗过滤器？', 40, 900],
      ['噪音', '满负荷时噪音达到{v}分贝。', '{n} 满负荷时噪音有多大？', 30, 99],
      ['重量', '不含附件的重量为{v}公斤。', '{n} 不含附件有多重，重量是多少？', 10, 480],
      ['备件', '密封圈的订货号为 SR-{v}。', '{n} 的密封圈订货号是什么？', 1000, 9999],
      ['能耗', '待机时耗电{v}瓦。', '{n} 待机时耗电多少？', 101, 399],
      ['运输', '运输时倾斜不得超过{v}度。', '{n} 运输时最多可以倾斜多少度？', 11, 44],
      ['故障', '红灯闪烁时，故障代码{v}表示冷却液不足。', '{n} 的哪个故障代码表示冷却液不足？', 500, 899],
    ],
    usual: [
      '只有经过培训的人员才能打开盖子。',
      '进行任何工作之前请关闭机器并拔下插头。',
      '请让儿童和动物远离运动部件。',
      '如有疑问，请咨询经销商。',
      '请按当地规定处理包装和旧零件。',
    ],
  },
];

const FAMILIES = ['Alder', 'Birchline', 'Cedarex', 'Dunlin', 'Egretta'];
const MODELS = [300, 310, 320, 330, 400, 410, 420, 430];
const VALUE = '{v}';
const NAME = '{n}';
/** Every so many questions, two letters of the name are swapped. */
const SLIP = 5;

/** The manuals by file name, and a question for each of their sections. */
export function makeManuals(): { files: Map<string, string>; questions: ManualQuestion[] } {
  const files = new Map<string, string>();
  const questions: ManualQuestion[] = [];
  const random = mulberry32(20);
  for (const [shift, language] of LANGUAGES.entries()) {
    for (const family of FAMILIES) {
      for (const model of MODELS) {
        // Each language has machines of its own.
        const name = `${family} ${model + shift}`;
        const file = `${language.code}/${family.toLowerCase()}-${model + shift}.md`;
        const parts = [`# ${language.title(name)}`, language.intro];
        for (const [heading, sentence, question, least, most] of language.facts) {
          const value = String(least + Math.floor(random() * (most - least + 1)));
          const around = [0, 1, 2, 3].map(
            () => language.usual[Math.floor(random() * language.usual.length)] ?? '',
          );
          parts.push(
            `## ${heading}`,
            [around[0], around[1], sentence.replace(VALUE, value), around[2], around[3]].join(' '),
          );
          const answer = sentence.replace(VALUE, value);
          const typed = questions.length % SLIP === SLIP - 1 ? slipped(name) : name;
          questions.push({
            language: language.code,
            text: question.replace(NAME, typed),
            document: file,
            answer,
          });
        }
        files.set(file, `${parts.join('\n\n')}\n`);
      }
    }
  }
  return { files, questions };
}

/** The name with its third and fourth letter swapped. */
function slipped(name: string): string {
  return name.slice(0, 2) + name.charAt(3) + name.charAt(2) + name.slice(4);
}

/** A small random generator (Tommy Ettinger's mulberry32), for numbers that are the same on every machine. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
