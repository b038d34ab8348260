export class Expressions {
  constructor() {}
  refresh() {}
  beside() {}
  written() {}
  run() {}
}
