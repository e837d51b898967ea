/** Invalid values by kind of a parameter, a header or a field. Kinds that accept any text are not here. */

export const WRONG_QUERY: Readonly<Record<string, readonly string[]>> = {
  choice: ['NOPE', 'created', '1', '%00', '__proto__', 'constructor', 'x'.repeat(2_000)],
  integer: [
    'x',
    '1.5',
    '1e3',
    '0x10',
    '--1',
    '99999999999999999999',
    '1e999',
    '1_000',
    '%20',
    '%00',
    'NaN',
    'Infinity',
  ],
  integers: ['x', '-1', '200,y', '1.5', '9999999999', 'NaN'],
  cursor: ['x', '-', '1-1', 'log-1', 'log-1.5-1', 'run-1.5-1', 'dlq-1.5-1', 'log-1-x', 'nope-1-1', '%0Alog-1-1'],
  'page-size': ['0', '-1', '-0', '101', 'x', '1.5', '1e999', '99999999999999999999'],
  'at-most': ['0', '-1', '-0', 'x', '1.5', 'NaN'],
};

/** Cursors of other listings, by operation. */
export const OTHER_CURSORS: Readonly<Record<string, readonly string[]>> = {
  'list-logs': ['run-1795168800000-1', 'dlq-1795168800000-1'],
  'list-workflow-dlq': ['log-1795168800000-1', 'dlq-1795168800000-1'],
  'resume-workflow-dlq': ['log-1795168800000-1', 'dlq-1795168800000-1'],
  'delete-workflow-dlq': ['log-1795168800000-1', 'dlq-1795168800000-1'],
  'delete-dlq': ['log-1795168800000-1', 'run-1795168800000-1'],
};

const DEEP = '('.repeat(6_000);

export const WRONG_HEADERS: Readonly<Record<string, readonly string[]>> = {
  integer: ['-1', '-0', '1.5', 'x', '1e3', '1e999', '0x10', '9999999999999999', '1,2', 'NaN', '\u00b2'],
  boolean: ['maybe', '1', 'TRUE', 'true,false'],
  duration: ['5y', '-3s', '1 s', 's', '1.5h', '99999999999999d', '1d1', '1e999s', 'NaN', '\u0661s'],
  method: ['TRACE', 'get', 'POST,GET', 'CONNECT', 'P\u00d6ST'],
  url: [
    'ftp://x/',
    'http://',
    'x',
    '//x',
    'http://a:b@c/',
    'http://[',
    'http://x:99999/',
    'javascript:1',
    'http://\u00e9/',
  ],
  expression: [DEEP, `${'-'.repeat(6_000)}1`, 'system()', '1 +', 'x', 'pow(1)', '1;1', 'constructor', 'NaN', '0/0'],
  'flow-control': [
    'x',
    'parallelism=0',
    'rate=1,rate=1',
    'rate=-1',
    'period=1',
    'parallelism=1,foo=2',
    ',',
    'rate=1e999',
  ],
};

const NOT_AN_OBJECT = ['[]', '"x"', '7', 'true'];
const NOT_A_LIST = ['{}', '"x"', '7', 'true', '{"length":1}'];
const NOT_A_NUMBER = ['"1"', '"NaN"', '[]', '{}', 'true', '1e999', '-1e999'];
const NOT_A_TEXT = ['null', '[]', '{}', 'true', '7', '-0', '1e999', '[["x"]]'];
const NOT_WHOLE = [...NOT_A_NUMBER, '-1', '0.5', '1e300', '9007199254740993'];
const NEST = '['.repeat(5_000) + ']'.repeat(5_000);

/** Invalid JSON values of a field, as text, by kind. */
export const WRONG_FIELDS = {
  text: [...NOT_A_TEXT, '""'],
  path: [...NOT_A_TEXT, '""', '"x"'],
  place: [...NOT_A_TEXT, '""', '"http://x/"', '"a b"', '"["'],
  choice: [...NOT_A_TEXT, '""', '"nope"', '"__proto__"', '"toString"'],
  flag: ['"true"', '1', '0', '[]', '{}', 'null'],
  whole: [...NOT_WHOLE, 'null'],
  count: [...NOT_WHOLE, 'null', '0'],
  countOrNull: [...NOT_WHOLE, '0'],
  share: [...NOT_A_NUMBER, 'null', '-0.1', '1.1'],
  rate: [
    ...NOT_AN_OBJECT,
    '{}',
    '{"max":0,"periodMs":1}',
    '{"max":1,"periodMs":1e999}',
    '{"max":1,"periodMs":1,"x":1}',
  ],
  budget: [...NOT_A_NUMBER, 'null', '19', '-1', '0.5', '20.000001', '10001', '9007199254740993'],
  texts: [...NOT_A_LIST, 'null', '[null]', '[7]', '[[]]', '[""]', NEST],
  objects: [...NOT_A_LIST, 'null', '[null]', '[7]', '[{}]', '[{"name":7}]', NEST],
  groups: [
    ...NOT_A_LIST,
    '[{}]',
    '[{"name":"g","endpoints":[]}]',
    '[{"name":"g","endpoints":[{"url":"ftp://x/"}]}]',
    NEST,
  ],
  failures: [
    ...NOT_A_LIST,
    '[null]',
    '[{}]',
    '[{"url":"x"}]',
    '[{"url":"http://a/","count":1e9}]',
    '[{"url":"http://a/","count":10000},{"url":"http://a/","count":10000},{"url":"http://a/"}]',
    '[{"url":"http://a/","status":99}]',
    '[{"url":"http://a/","agoMs":9007199254740993}]',
    NEST,
  ],
  endpoints: [
    ...NOT_A_LIST,
    'null',
    '[]',
    '[null]',
    '[7]',
    '[{}]',
    '[{"url":7}]',
    '[{"url":"x"}]',
    '[{"url":"http://a/","name":7}]',
    '[{"url":"http://a b/"}]',
    NEST,
  ],
  fault: [
    ...NOT_AN_OBJECT,
    'null',
    '{}',
    '{"kind":"nope"}',
    '{"kind":"__proto__"}',
    '{"kind":"latency","ms":-1}',
    '{"kind":"latency","ms":1e999}',
    '{"kind":"status","status":200}',
    '{"kind":"duplicate","share":"NaN"}',
    '{"kind":"lost","x":1}',
  ],
  steps: [
    ...NOT_A_LIST,
    '[]',
    '[null]',
    '[99]',
    '["nope"]',
    '[{"status":1e999}]',
    '[{"afterMs":-1}]',
    '[{"x":1}]',
    NEST,
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type FieldKind = keyof typeof WRONG_FIELDS;
