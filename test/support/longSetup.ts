/** Leaves out, where the longer tests alone are asked for, the other tests of a file that names its longer ones. */
import { readFileSync } from "node:fs"
import { beforeEach, type TestContext } from "vitest"
import { mark } from "./extent.js"

type Task = TestContext["task"] | NonNullable<TestContext["task"]["suite"]>

const isLonger = (task: Task): boolean => task.name.includes(mark) || (task.suite !== undefined && isLonger(task.suite))

const naming =
  /import \{[^}]*\b(longer|shareOfTests)\b[^}]*\} from "[./]+support\/extent\.js"|support\/(contractShare|wrongOptions)\.js/

const names = (path: string): boolean => naming.test(readFileSync(path, "utf8"))

beforeEach(({ skip, task }) => {
  if (!isLonger(task) && names(task.file.filepath)) skip()
})
