/** Texts in other character sets than UTF-8: as people's older programs write them, and what a model reads of them. */
import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../src/media/reader/file-type.ts';
import { createReader } from '../../../src/media/reader/reader.ts';

/** Short texts, because these are the hard ones: a line of a table, a heading, one sentence. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  'windows-1252': [
    'Straße;Köln',
    'Müller;Düsseldorf;12,50 €',
    'Le café est fermé à midi, voilà.',
    'Où êtes-vous ? Déjà là ?',
    'El niño comió piña mañana.',
    'São Paulo, coração e ação',
    'Zürich – Genève – Basel',
    '„Grüße“ aus Österreich',
    'Å, æ og ø på norsk',
    'Temperatur: 21°C, Fläche 30 m²',
    'résumé',
    'Crème brûlée 4,50',
  ],
  'windows-1251': [
    'Привет, мир',
    'Имя;Город',
    'Москва;Санкт-Петербург',
    'Сегодня хорошая погода.',
    '№ 12 — Иванов',
    'ООО «Ромашка»',
  ],
  gb18030: [
    '你好，世界',
    '姓名,城市',
    '张三,北京',
    '今天天气很好。',
    '订单编号;金额',
    '中文文件',
    '这个文件是用旧系统写的，请帮我看看。',
    '价格',
  ],
  shift_jis: [
    'こんにちは世界',
    '名前,都市',
    '東京都,田中',
    '今日は天気がいいです。',
    'カタカナのテスト',
    '売上',
    '日本語のファイルを読んでください。',
  ],
  'euc-jp': ['こんにちは世界', '今日は天気がいいです。', 'カタカナのテスト'],
  big5: ['你好，世界', '今天天氣很好。', '這個檔案是舊系統寫的，請幫我看看。', '姓名,城市'],
  'euc-kr': ['안녕하세요 세계', '이름,도시', '오늘 날씨가 좋습니다.', '서울;부산'],
};

const CODES = new Map<string, ReadonlyMap<string, readonly number[]>>();

/** The bytes of each character of a set, read out of the decoder. */
function codesOf(charset: string): ReadonlyMap<string, readonly number[]> {
  const known = CODES.get(charset);
  if (known !== undefined) return known;
  const codes = new Map<string, readonly number[]>();
  const decoder = new TextDecoder(charset);
  const add = (...bytes: number[]): void => {
    const text = decoder.decode(Uint8Array.from(bytes));
    if (Array.from(text).length === 1 && text !== '\ufffd' && !codes.has(text)) codes.set(text, bytes);
  };
  for (let first = 0; first < 256; first += 1) add(first);
  if (!charset.startsWith('windows'))
    for (let first = 0x81; first < 0xff; first += 1)
      for (let second = 0x40; second < 0xff; second += 1) add(first, second);
  CODES.set(charset, codes);
  return codes;
}

function encode(charset: string, text: string): Buffer {
  const codes = codesOf(charset);
  return Buffer.from(Array.from(text).flatMap((character) => codes.get(character) ?? []));
}

describe('a text that is not UTF-8', () => {
  it.each(Object.entries(TEXTS))('is read in its encoding %s, which the model sees', (charset, texts) => {
    for (const text of texts)
      expect(decodeText(encode(charset, text))).toEqual({ text, note: `[not UTF-8: read as ${charset}]` });
  });

  it('is read in both orders of UTF-16, with its mark and without', () => {
    const text = 'Straße;Köln\r\n';
    const little = Buffer.from(text, 'utf16le');
    const big = Buffer.from(little).swap16();
    for (const bytes of [little, big]) expect(decodeText(bytes)).toEqual({ text });
    expect(decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), little]))).toEqual({ text });
    expect(decodeText(Buffer.concat([Buffer.from([0xfe, 0xff]), big]))).toEqual({ text });
    expect(decodeText(Buffer.from(`\ufeff${text}`))).toEqual({ text });
  });

  it('keeps a log with one wrong byte readable, and says so', () => {
    const log = (bytes: number[]): Buffer =>
      Buffer.concat([Buffer.from('request served\n'.repeat(20)), Buffer.from(bytes), Buffer.from(' end\n')]);
    const decoded = decodeText(log([0xff]));
    expect(decoded?.text).toBe(`${'request served\n'.repeat(20)}\ufffd end\n`);
    expect(decoded?.note).toBe('[1 byte of it is no UTF-8 text and is shown as \ufffd]');
    const german = decodeText(log([...Buffer.from('für Müller: '), 0x81]));
    expect(german?.text).toContain('für Müller: \ufffd');
  });

  it('is not text when it is binary', () => {
    expect(decodeText(Buffer.from([0, 1, 2, 3]))).toBeUndefined();
    // The beginnings of a PNG, a JPEG, a GIF with high bytes, a gzip archive and a WebAssembly module, cut off.
    for (const start of ['89504e47', 'ffd8ffe0', 'ffd8ffdb', '1f8b08', 'd0cf11e0a1b1', 'fd377a585a'])
      expect(decodeText(Buffer.from(start, 'hex'))).toBeUndefined();
    expect(decodeText(Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0]))).toBeUndefined();
    expect(decodeText(Buffer.from(Array.from({ length: 400 }, (_, n) => (n * 7919) % 256)))).toBeUndefined();
  });

  it('reaches the model with its note before it', async () => {
    const read = createReader();
    const { text, mimeType } = await read(
      encode('windows-1252', 'Straße;Köln'),
      'ann',
      AbortSignal.timeout(5_000),
    );
    expect({ text, mimeType }).toEqual({
      text: '[not UTF-8: read as windows-1252]\nStraße;Köln',
      mimeType: 'text/plain',
    });
  });
});
