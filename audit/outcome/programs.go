package outcome

var programs = buildPrograms()

func buildPrograms() map[string]Program {
	m := map[string]Program{}
	for _, add := range []func(map[string]Program){filePrograms, gitPrograms, buildTools, runnerPrograms} {
		add(m)
	}
	return m
}

func filePrograms(m map[string]Program) {
	edit, read, search, one := []Class{ClassEdit}, []Class{ClassRead}, []Class{ClassSearch}, []int32{1}
	m["mv"] = Program{Classes: edit, Operands: UseMove, Values: "-S --suffix -t --target-directory"}
	m["cp"] = Program{Classes: edit, Operands: UseCopy, Values: "-S --suffix -t --target-directory"}
	m["install"] = Program{Classes: edit, Operands: UseCopy, Values: "-m --mode -o --owner -g --group -S --suffix -t --target-directory"}
	m["ln"] = Program{Classes: edit, Operands: UseLink, Values: "-S --suffix"}
	m["rm"] = Program{Classes: edit, Operands: UseRemove}
	m["tee"] = Program{Classes: edit, Operands: UseWrite}
	m["touch"] = Program{Classes: edit, Operands: UseWrite, Values: "-d --date -r --reference -t"}
	m["truncate"] = Program{Classes: edit, Operands: UseWrite, Values: "-s --size -r --reference"}
	m["patch"] = Program{Classes: edit, Operands: UseWrite, Values: "-i --input -d --directory -o --output -p -F -B -D -r -V -Y -z -x"}

	spread(m, Program{Classes: read, Operands: UseRead}, "cat,tac,nl,bat,batcat,less,more,zcat,od,xxd,hexdump,strings,sed,gsed")
	spread(m, Program{Classes: read, Operands: UseRead, Values: "-n -c --lines --bytes"}, "head,tail")
	spread(m, Program{Classes: read, Operands: UseRead, Skip: 1, Values: "-F -v -f"}, "awk,gawk,mawk")
	spread(m, Program{Classes: read, Operands: UseRead, Skip: 1, Values: "--indent"}, "jq,yq")
	spread(m, Program{Operands: UseRead}, "wc,stat,file,md5sum,sha256sum,du")
	spread(m, Program{Operands: UseRead, Answers: one}, "cmp,diff")
	spread(m, Program{Operands: UseRead, Answers: one}, "test,[")
	m["pgrep"] = Program{Answers: one}

	grepValues := "-e -f -m -A -B -C --regexp --file --max-count --include --exclude --exclude-dir --context -g --glob -t --type -T --type-not --color --colors"
	spread(m, Program{Classes: search, Operands: UseRead, Skip: 1, Values: grepValues, Answers: one}, "grep,egrep,fgrep,zgrep,rg,ag,ack")
	m["git grep"] = Program{Classes: []Class{ClassVCS, ClassSearch}, Operands: UseRead, Skip: 1, Values: grepValues, Answers: one}
	spread(m, Program{Classes: search, Operands: UseRead}, "ls,tree,eza,exa,dir")
	spread(m, Program{Classes: search}, "find,fd,fdfind,locate")

	spread(m, Program{Classes: []Class{ClassHTTP}}, "curl,wget,http,https,xh,httpie")
	spread(m, Program{Classes: []Class{ClassVCS}}, "git,gh,hg,svn,jj,glab")
}

// gitPrograms holds the subcommands of git that change files of the working tree.
// Which of their operands are paths, gitPaths says.
func gitPrograms(m map[string]Program) {
	edits := []Class{ClassVCS, ClassEdit}
	spread(m, Program{Classes: edits},
		"git checkout,git restore,git reset,git apply,git am,git merge,git rebase,git revert,git cherry-pick,git pull,git switch,git clean,git stash,git stash pop,git stash apply")
	spread(m, Program{Classes: []Class{ClassVCS}}, "git stash list,git stash show,git stash drop,git stash clear,git stash create,git stash store")
	m["git mv"] = Program{Classes: edits, Operands: UseMove}
	m["git rm"] = Program{Classes: edits, Operands: UseRemove}
}

func buildTools(m map[string]Program) {
	build := Program{Classes: []Class{ClassBuild}}
	spread(m, build, "go build,go install,cargo build,cargo b,cargo check,tsc,vite build,next build,webpack,rollup,esbuild,ninja,cmake --build,docker build,docker buildx,docker compose build,podman build,buildah")
	spread(m, build, "gcc,g++,cc,c++,clang,clang++,javac,kotlinc,rustc,ghc,dotnet build,dotnet publish,swift build,xcodebuild,sbt,bazel build,meson compile,zig build,mix compile,flutter build,nx build,turbo build,python -m build,uv build,poetry build")
	// What a goal is for, Tables.goals says; those that build may run tests too.
	spread(m, Program{Classes: []Class{ClassBuild}, Runner: "maven"}, "mvn,mvnw")
	spread(m, Program{Classes: []Class{ClassBuild}, Runner: "gradle"}, "gradle,gradlew")
}

func runnerPrograms(m map[string]Program) {
	run := func(runner, names string) {
		spread(m, Program{Classes: []Class{ClassTest}, Runner: runner}, names)
	}
	run("go test", "go test,gotestsum,richgo test,go tool gotestsum")
	run("pytest", "pytest,py.test,python -m pytest")
	run("unittest", "python -m unittest,python manage.py test,python setup.py test,nosetests,python -m nose,django-admin test")
	run("jest", "jest,react-scripts test")
	run("vitest", "vitest")
	run("mocha", "mocha,_mocha,cypress run")
	run("node", "node --test,tsx --test,bun test")
	run("cargo", "cargo test,cargo t,cargo nextest,cargo llvm-cov")
	run("tap", "prove,bats,tap,tape")
	run("rspec", "rspec")
	run("ctest", "ctest")
	run("dotnet", "dotnet test")
	run("phpunit", "phpunit,pest,paratest")
	run("any", "tox,nox,playwright test,ava,karma start,deno test,swift test,flutter test,dart test,mix test,hatch test,rye test,meson test,ninja test,bazel test,ng test,ginkgo,rails test,rake test,rake spec,composer test,stack test,cabal test,zig test,zig build test,lein test,busted,minitest,ava")
}
