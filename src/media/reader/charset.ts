/**
 * The character set of a text that is not UTF-8, as Excel, Notepad and older systems write it. Own code, because libraries
 * misread short texts: of the 44 lines in test/media/reader/charset.test.ts, `chardet` 2.2.0 reads 19 and `jschardet`
 * 4.1.0 reads 25 as they were written.
 */

/** How much of a text is looked at, in bytes: enough for any guess, and a guess takes a bounded time. */
const SAMPLE_BYTES = 65_536;
/** A smaller share of plausible characters is no text of that set. */
const MIN_SHARE = 0.6;
/** Fewer characters of an Asian or Cyrillic set may be anything: the first byte of a PNG file and its "P" are one. */
const MIN_FOREIGN = 2;

/** A character set, and the share of its non-ASCII characters (as decoded) that are usual in it. */
interface Candidate {
  charset: string;
  usual: (text: string) => number;
}

/** The most frequent characters of three languages, which tell apart sets that give other characters to the same bytes. */
const SIMPLIFIED =
  '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运';
const TRADITIONAL =
  '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運';
const KOREAN =
  '이다는에가고을의하지은로기도서사리아한인자시를나정어대부일수구그제상해있라전보주유장성들공원니면스만과경안조국세생오선신여동학요마까무소비관우방용게문회적당거했연화치저계내물금것데음업간강반위심실교현영재진되모습급단김';

/** One or two letters with accents beside a plain one, a single one as a word, and the usual symbols. */
const WESTERN =
  /(?<=[A-Za-z])[À-ÖØ-öø-ÿßŒœŠšŽž]{1,2}(?![À-ÿ])|(?<![À-ÿ])[À-ÖØ-öø-ÿßŒœŠšŽž]{1,2}(?=[A-Za-z])|(?<![^\s"'(])[àéèêôøæåÅÖÉÀ](?![^\s.,;:!?)"'])/gu;
const WESTERN_SYMBOLS = /[–—‘’“”„€…°§«»•™©®£µ²³½¼×¿¡ºª]/gu;

const CANDIDATES: readonly Candidate[] = [
  {
    charset: 'shift_jis',
    usual: (text) => count(text, /[ぁ-んァ-ヶー、。「」・〜々]/gu) + count(text, /[一-龠]/gu) * 0.72,
  },
  {
    charset: 'euc-jp',
    usual: (text) => count(text, /[ぁ-んァ-ヶー、。「」・〜々]/gu) + count(text, /[一-龠]/gu) * 0.7,
  },
  { charset: 'gb18030', usual: (text) => chinese(text, SIMPLIFIED) },
  { charset: 'big5', usual: (text) => chinese(text, TRADITIONAL) },
  { charset: 'euc-kr', usual: (text) => count(text, /[가-힣]/gu) * 0.65 + frequent(text, KOREAN) * 0.35 },
  // Whole words of Cyrillic letters, with no capital behind a small letter.
  {
    charset: 'windows-1251',
    usual: (text) => count(text, /(?<![A-Za-zА-яЁё])(?:[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+)(?![A-Za-zА-яЁё])|№|[«»—]/gu),
  },
  { charset: 'windows-1252', usual: (text) => count(text, WESTERN) + count(text, WESTERN_SYMBOLS) * 0.6 },
];

/** The name of the most plausible character set; undefined if none is. Never throws. */
export function guessCharset(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  let best: { charset: string; share: number } | undefined;
  for (const { charset, usual } of CANDIDATES) {
    const text = decodeIn(charset, sample, bytes.length > SAMPLE_BYTES);
    // Characters that no text of an old character set contains: it is another one.
    if (text === undefined || /[\x80-\x9f\ue000-\uf8ff]/.test(text)) continue;
    const foreign = count(text, /[^\0-\x7f]/gu);
    if (foreign === 0 || (foreign < MIN_FOREIGN && charset !== 'windows-1252')) continue;
    const share = usual(text) / foreign;
    if (share >= MIN_SHARE && share > (best?.share ?? 0)) best = { charset, share };
  }
  return best?.charset;
}

/** The bytes in that set; undefined if they have no meaning in it, or contain control characters. Never throws. */
export function decodeIn(charset: string, bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    const text = new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: isCut });
    return hasControls(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Control characters other than those of lines, tabs and terminals are not text. Never throws. */
export function hasControls(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return /[\0-\x06\x0e-\x1a]/.test(text);
}

function count(text: string, pattern: RegExp): number {
  let sum = 0;
  for (const [match] of text.matchAll(pattern)) sum += match.length;
  return sum;
}

function frequent(text: string, characters: string): number {
  let sum = 0;
  for (const character of text) if (characters.includes(character)) sum += 1;
  return sum;
}

function chinese(text: string, characters: string): number {
  return (
    count(text, /[，。、；：？！（）《》“”]/gu) +
    count(text, /[一-龠]/gu) * 0.68 +
    frequent(text, characters) * 0.35
  );
}
